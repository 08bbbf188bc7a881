"""Where a Drive connector stands, as its checkpoint keeps it."""

from datetime import UTC, datetime

import pytest

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.cursor import Cursor, Phase
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.scope import Scope
from headwater.connectors import InvalidCursor
from headwater.errors import ValidationError

SCOPE = Scope(folder_ids=("1a",)).stamp


def test_a_cursor_comes_back_as_it_was_written() -> None:
    cursor = Cursor(
        scope=SCOPE,
        phase=Phase.CRAWL,
        feeds={"": "12", "0drive": "34"},
        lost=("0gone",),
        roots=("1a",),
        listed_at=datetime(2026, 3, 2, tzinfo=UTC),
        folder="1f",
        token="t",
    )

    assert Cursor.parse(cursor.to_text(), scope=SCOPE) == cursor


@pytest.mark.parametrize(
    "text", ["", "bad", "[]", '{"v": 2, "scope": "x"}', '{"v": 1}', Cursor(scope="another").to_text()]
)
def test_what_is_no_cursor_of_these_settings_lists_everything_anew(text: str) -> None:
    with pytest.raises(InvalidCursor):
        Cursor.parse(text, scope=SCOPE)
    assert Drive(DriveConfig(folder_ids=("1a",))).restart(text) is None


def test_a_restart_keeps_the_feeds_where_they_stand() -> None:
    rest = Cursor(scope=SCOPE, feeds={"": "12"}, lost=("0gone",), listed_at=datetime(2026, 3, 2, tzinfo=UTC))

    text = Drive(DriveConfig(folder_ids=("1a",))).restart(rest.to_text())

    assert text is not None
    again = Cursor.parse(text, scope=SCOPE)
    assert (again.phase, again.feeds, again.lost, again.listed_at) == (Phase.REST, rest.feeds, rest.lost, None)


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
