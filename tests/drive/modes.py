"""Where Google's documents leave the behaviour of Drive open, a mode chooses: a connector must be right in each."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal


@dataclass(slots=True)
class Modes:
    """Switches of one world; a test may turn them at any moment."""

    # The change feed.
    coalesce_changes: bool = True
    """One entry for a file, at its last change. Off: one for each change."""
    change_states: Literal["current", "then"] = "current"
    """What an entry shows: the file as it is when the entry is read, or as it was when it was written."""
    descendants_on_move: bool = False
    """A moved folder's descendants get entries (and versions) of their own."""
    descendants_on_trash: bool = False
    """So do those of a folder that was trashed, restored or deleted."""
    descendants_on_access: bool = False
    """So do those of a folder, or shared drive, whose permissions changed."""
    drive_items_in_user_log: Literal["never", "used", "always"] = "used"
    """Which items of a shared drive its members find in their own log: those they have opened or edited, by default."""
    lost_drive_status: Literal[403, 404] = 404
    """What somebody who is no member gets for a shared drive."""

    # Paging.
    duplicate_across_pages: bool = False
    """The last entry of a page comes again as the first one of the next."""
    empty_pages: bool = False
    """An empty page with a token comes before each page."""
    page_cap: int | None = None
    """No page is longer, whatever ``pageSize`` asks for."""
    refuse_change_tokens: Literal[400, 410] | None = None
    refuse_list_tokens: Literal[400, 410] | None = None
    list_token_lives: timedelta = timedelta(hours=4)
    incomplete_search: bool = False
    """Searches over all drives say that they are incomplete and leave out every second shared-drive item."""
    or_parents_finds_nothing: bool = False
    """A query with two ``in parents`` finds nothing, as it now and then does."""
    newest_first: bool = False
    """``files.list`` begins with what changed last, so that a change between two pages moves the rest."""

    # Files.
    omit_permissions: bool = False
    """``permissions`` is left out even for those who may share."""
    hidden_permissions: set[tuple[str, str]] = field(default_factory=set)
    """(file id, permission id): in ``permissionIds``, in force, and missing from every list of permissions."""
    byte_order_mark: bool = True
    """Exported plain text begins with U+FEFF."""
    export_limit: int = 10 * 1024 * 1024
