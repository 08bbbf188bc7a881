"""Which shared drives are followed, and which of them are gone.

A shared drive can vanish with all who could give rights to it, so that it is believed to be gone once it is found so by two
passes.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from activities.connectors.drive.errors import DriveFault, SharedDriveGone
from activities.connectors.drive.item import NAME_MAX, is_id, storable
from activities.connectors.drive.passing import Page, gone
from activities.connectors.drive.tree import ROOT, Node
from headwater.connectors import DocumentFault, SourceUnavailable, Unlisted

FOLLOWED_MAX: Final = 5_000


def followed_drives(page: Page) -> tuple[dict[str, str], tuple[str, ...]]:
    """The shared drives that are followed, with their names; and those that this pass does not find."""
    drives = {} if page.scope.drive_id else _drives(page)
    return drives, _lost(page, drives)


def _drives(page: Page) -> dict[str, str]:
    """The shared drives of which the account is a member, with their names."""
    found: dict[str, str] = {}
    token: str | None = None
    for _ in range(FOLLOWED_MAX):  # a page may be empty and not the last
        answer = page.calls.shared_drives(page_token=token)
        found.update((drive["id"], _name(drive)) for drive in answer["drives"] if is_id(drive.get("id")))
        token = answer.get("nextPageToken")
        if not token:
            return found
        if len(found) >= FOLLOWED_MAX:
            where = f"The account is a member of more than {FOLLOWED_MAX:,} shared drives: the others are not followed."
            page.unlisted.append(Unlisted("shared drives", where))
            return found
    raise DriveFault("The list of shared drives has no last page.")


def _name(drive: Mapping[str, object]) -> str:
    name = drive.get("name")
    return storable(name)[:NAME_MAX] if isinstance(name, str) else ""


def _lost(page: Page, drives: dict[str, str]) -> tuple[str, ...]:
    """Those that were there and are not: each is asked for, and given up if the pass before did not find it either."""
    scope, feeds = page.scope, page.placing.feeds
    lost: list[str] = []
    asked = 0
    expected = (
        [scope.drive_id]
        if scope.drive_id
        else [*filter(None, feeds), *(() if page.cursor.feeds else _remembered(page))]
    )
    for drive_id in dict.fromkeys((*page.cursor.lost, *expected)):
        if drive_id in drives:
            continue
        if asked and page.is_late():
            # Where many vanish at once. Of those that are asked no more their feeds will tell.
            drives[drive_id] = _known_name(page, drive_id)
            continue
        asked += 1
        try:
            drives[drive_id] = _name(page.placing.patience.ask(partial(page.calls.shared_drive, drive_id)))
            continue
        except DocumentFault as fault:
            page.unlisted.append(Unlisted(f"shared drive {drive_id}", str(fault)))
            drives[drive_id] = _known_name(page, drive_id)
            continue
        except SharedDriveGone:
            if scope.drive_id and not _was_seen(page, drive_id):
                raise SourceUnavailable(
                    f"There is no shared drive {drive_id}, or {page.calls.account} is no member of it: check the id, and add that "
                    "account to the drive as a content manager."
                ) from None
        if drive_id not in page.cursor.lost:
            page.unlisted.append(gone(drive_id))
            lost.append(drive_id)
            continue
        feeds.pop(drive_id, None)
        if page.tree.links(drive_id):
            page.placing.lose(drive_id)
        if scope.drive_id:
            lost.append(drive_id)
    return tuple(lost)


def _known_name(page: Page, drive_id: str) -> str:
    known = page.tree.node(drive_id)
    return "" if known is None else known.name


def _was_seen(page: Page, drive_id: str) -> bool:
    return drive_id in page.placing.feeds or drive_id in page.cursor.lost or bool(page.tree.links(drive_id))


def _remembered(page: Page) -> Iterator[str]:
    """The shared drives of a pass whose cursor was given up."""
    after = ""
    while links := page.tree.children(ROOT, after=after, limit=1_000):
        yield from (link.node for link in links if Node.of(link.record).drive_id == link.node)
        after = links[-1].node


__all__ = ["followed_drives"]
