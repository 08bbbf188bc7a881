"""Whether a folder's content has to be looked at, decided from how the folder was met and what is new about it."""

import pytest

from activities.connectors.drive.crawling import due_of_folder
from activities.connectors.drive.item import How
from activities.connectors.drive.tree import Due

CRAWL, VERIFY = Due.CRAWL, Due.VERIFY
SAID = (How.TOLD, How.ASKED)


@pytest.mark.parametrize(
    ("hows", "facts", "due"),
    [
        # What is listed has its content listed too; what was known of that is checked.
        ((How.LISTED,), (), None),
        ((How.LISTED,), ("is_new", "is_changed"), None),
        ((How.LISTED,), ("is_verified",), VERIFY),
        # What came up in a crawl is crawled itself, once, however it is met again.
        ((How.CRAWLED,), (), CRAWL),
        ((How.CRAWLED,), ("is_crawled",), None),
        ((How.CRAWLED,), ("is_crawled", "is_new", "is_changed"), None),
        ((How.CRAWLED,), ("is_verified",), CRAWL),
        # What the feed tells of: only if something is other than it was.
        (SAID, (), None),
        (SAID, ("is_changed",), CRAWL),
        (SAID, ("is_changed", "is_crawled"), CRAWL),
        (SAID, ("is_new",), CRAWL),
        (SAID, ("is_new", "is_crawled"), CRAWL),
        (SAID, ("is_verified", "is_whole"), None),
        # What a shortcut leads to: where it lies the feed tells of it, and a pass that lists everything crawls it once.
        (SAID, ("is_pointed_at",), CRAWL),
        (SAID, ("is_pointed_at", "is_new"), CRAWL),
        (SAID, ("is_pointed_at", "is_crawled"), None),
        (SAID, ("is_pointed_at", "lies_elsewhere"), None),
        (SAID, ("is_pointed_at", "lies_elsewhere", "is_changed"), None),
        (SAID, ("is_pointed_at", "lies_elsewhere", "is_whole"), CRAWL),
        (SAID, ("is_pointed_at", "lies_elsewhere", "is_whole", "is_crawled"), None),
        (SAID, ("is_pointed_at", "lies_elsewhere", "is_new"), CRAWL),
    ],
)
def test_a_folder_is_looked_into_when_something_about_it_is_new(
    hows: tuple[How, ...], facts: tuple[str, ...], due: Due | None
) -> None:
    for how in hows:
        assert due_of_folder(how, **dict.fromkeys(facts, True)) == due
