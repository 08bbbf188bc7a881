"""Whether what is in a folder has to be looked at, from how the folder was met and what is new about it."""

from activities.connectors.drive.item import How
from activities.connectors.drive.tree import Due


def due_of_folder(
    how: How,
    *,
    is_new: bool = False,
    is_changed: bool = False,
    is_crawled: bool = False,
    is_pointed_at: bool = False,
    lies_elsewhere: bool = False,
    is_whole: bool = False,
    is_verified: bool = False,
) -> Due | None:
    """What is to be done with the folder, if anything.

    ``is_new``: it was not known or out of reach. ``is_changed``: it is called, lies or may be read otherwise than before, or
    that is not known. ``is_crawled``: in this part of the pass, or it will be. ``is_pointed_at``: it was met by way of a
    shortcut, and ``lies_elsewhere`` in reach too. ``is_whole``: the pass lists everything. ``is_verified``: and checks what
    was known.
    """
    match how:
        case How.LISTED:  # so is what is in it
            return Due.VERIFY if is_verified else None
        case How.CRAWLED:
            is_due = not is_crawled
        case _ if is_new:
            is_due = True
        case _ if is_pointed_at:  # where it lies in reach the feed tells of it
            is_due = (is_whole or not lies_elsewhere) and not is_crawled
        case _:
            is_due = is_changed
    return Due.CRAWL if is_due else None


__all__ = ["due_of_folder"]
