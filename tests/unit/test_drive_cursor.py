"""Where a Drive connector stands, as its checkpoint keeps it."""

from datetime import UTC, datetime

import pytest

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.cursor import EMPTY_MAX, Crawl, Cursor, Listing, Phase, Walk
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.listing import RESTARTS_MAX, again
from activities.connectors.drive.scope import Scope
from headwater.connectors import InvalidCursor
from headwater.errors import ValidationError

SCOPE = Scope(folder_ids=("1a",)).stamp


NOW = datetime(2026, 3, 2, tzinfo=UTC)


def walking(phase: Phase = Phase.FILES, **fields: object) -> Cursor:
    """A cursor in the middle of a pass."""
    walk = Walk(phase=phase, began_at=NOW, epoch="e", queue=("", "0drive")).with_(**fields)
    return Cursor(scope=SCOPE, feeds={"": "12", "0drive": "34"}, under_way=walk)


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(scope=SCOPE, feeds={"": "12"}, lost=("0gone",), roots=("1a",), listed_at=NOW, has_gaps=True),
        walking(taken=("1a", "1b"), marks={"": "13"}, had_items=True),
        walking(Phase.CRAWL, crawl=Crawl(folder="1f", listing=Listing(token="t", restarts=1))),
        walking(Phase.CRAWL, crawl=Crawl(folder="1f", had_children=True, listing=None, after="1x")),
    ],
)
def test_a_cursor_comes_back_as_it_was_written(cursor: Cursor) -> None:
    assert Cursor.parse(cursor.to_text(), scope=SCOPE) == cursor


def listing(**fields: object) -> Cursor:
    """A cursor in the middle of the listing of a corpus."""
    return walking(listing=Listing(token="t").with_(**fields))


def test_what_is_known_of_a_listing_ends_with_it() -> None:
    cursor = listing(restarts=2, is_second=True)
    assert cursor.to(Phase.FOLDERS, queue=("0drive",)).listing == Listing()

    crawling = cursor.on(crawl=Crawl(folder="1f"))
    assert crawling.listing == Listing()
    crawling = crawling.with_listing(Listing(token="u"))
    assert (crawling.listing.token, crawling.walk.listing.token) == ("u", "t")
    assert crawling.to(Phase.CHANGES).walk.crawl is None


@pytest.mark.parametrize("restarts", range(RESTARTS_MAX))
def test_a_listing_begins_again_a_few_times_and_another_one_as_often(restarts: int) -> None:
    assert again(listing(restarts=restarts)).listing == Listing(restarts=restarts + 1)
    with pytest.raises(InvalidCursor):
        again(listing(restarts=RESTARTS_MAX))
    with pytest.raises(InvalidCursor):
        again(listing(token=None))


@pytest.mark.parametrize(("before", "circle"), [(0, 1), (0, 2), (3, 5), (10, 100)])
def test_pages_that_go_in_a_circle_are_noticed(before: int, circle: int) -> None:
    stands: Listing | None = Listing()
    turned = 0
    while stands is not None and turned < 1_000:
        number = turned if turned < before else before + (turned - before) % circle
        stands, turned = stands.turn(f"token {number}", is_empty=False), turned + 1

    assert stands is None and turned <= 4 * (before + circle) + 2


def test_many_pages_and_some_empty_ones_are_no_circle() -> None:
    stands: Listing | None = Listing()
    for number in range(5_000):
        assert stands is not None
        stands = stands.turn(f"token {number}", is_empty=number % 900 != 0)
    for number in range(EMPTY_MAX):
        stands = None if stands is None else stands.turn(f"more {number}", is_empty=True)

    assert stands is None, "and pages without anything end some time"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bad",
        "[]",
        '{"v": 2, "scope": "x", "phase": "rest"}',
        '{"v": 2}',
        f'{{"scope": "{SCOPE}", "feeds": {{}}, "v": 1}}',
        Cursor(scope="another").to_text(),
    ],
)
def test_what_is_no_cursor_of_these_settings_lists_everything_anew(text: str) -> None:
    with pytest.raises(InvalidCursor):
        Cursor.parse(text, scope=SCOPE)
    assert Drive(DriveConfig(folder_ids=("1a",))).restart(text) is None


def test_a_restart_keeps_the_feeds_where_they_stand() -> None:
    rest = Cursor(scope=SCOPE, feeds={"": "12"}, lost=("0gone",), listed_at=NOW)

    text = Drive(DriveConfig(folder_ids=("1a",))).restart(rest.to_text())

    assert text is not None
    anew = Cursor.parse(text, scope=SCOPE)
    assert (anew.under_way, anew.feeds, anew.lost, anew.listed_at) == (None, rest.feeds, rest.lost, None)


def test_the_order_of_folders_is_no_other_scope() -> None:
    assert Scope(("1a", "1b")).stamp == Scope(("1b", "1a")).stamp
    assert len({Scope(("1a",)).stamp, Scope(()).stamp, Scope((), "1a").stamp, Scope(("1a",), "0d").stamp}) == 4


def test_nothing_is_listed_without_a_memory() -> None:
    with pytest.raises(ValidationError, match="memory"):
        Drive(DriveConfig()).list_page(None, limit=1)


def test_settings_come_back_as_they_were_written() -> None:
    config = DriveConfig.parse({"folder_ids": ["1a"], "subject": "ada@a.test", "credentials": "/keys/robot.json"})

    assert DriveConfig.parse(config.to_config()) == config
    assert set(config.to_config()) == {"folder_ids", "subject", "credentials"}
