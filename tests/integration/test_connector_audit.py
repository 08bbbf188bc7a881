"""Who added or changed a connector is answerable: names of settings, never their values."""

from typing import Any, Final

import pytest

from activities.store import Store
from activities.store.connectors import change_settings, ensure_connector, note_deed
from activities.store.pages import lease
from activities.store.pages.lease import AlreadyRunning
from tests.integration.seen import table
from tests.integration.staging_factory import Corpus

SETTINGS: Final = {"drive_id": "0AD", "credentials": "/keys/robot.json"}


def deeds(store: Store, *actions: str) -> list[tuple[str | None, str, dict[str, Any]]]:
    """Who did what to a connector, in order; of these actions alone if some are named."""
    rows = sorted(table(store, "audit"), key=lambda row: int(row["id"]))
    return [
        (row["actor"], row["action"], {key: value for key, value in row["detail"].items() if key != "connector_id"})
        for row in rows
        if not actions or row["action"] in actions
    ]


def test_what_is_added_and_what_is_changed_is_written_down_by_the_names_of_settings(
    store: Store, corpus: Corpus
) -> None:
    def ensure(config: dict[str, Any], *, new_rule: bool = False) -> None:
        ensure_connector(store, corpus.build.scope_id, "drive", "drive", config, new_rule=new_rule, actor="ops")

    before = len(deeds(store))
    ensure(SETTINGS)
    ensure(SETTINGS)
    ensure({"drive_id": "0AE", "subject": "robot@acme.test"}, new_rule=True)
    said = {"connector": "drive", "kind": "drive"}
    assert deeds(store)[before:] == [
        ("ops", "add_connector", said),
        ("ops", "change_connector", said | {"changed": ["credentials", "drive_id", "subject"]}),
    ]
    assert not [word for word in ("robot", "0AD", "0AE") if word in str(deeds(store))]


def test_settings_that_are_refused_leave_no_word(store: Store, corpus: Corpus) -> None:
    row = ensure_connector(store, corpus.build.scope_id, "drive", "drive", SETTINGS, new_rule=False)
    taken = lease.begin_pass(store, row.connector_id, owner="sync:1", run="1", full=False)
    with pytest.raises(AlreadyRunning):
        change_settings(store, row, {"drive_id": "0AE"}, actor="ops")
    with pytest.raises(ValueError, match="is no folder"):
        ensure_connector(store, corpus.build.scope_id, "drive", "folder", {}, new_rule=False, actor="ops")
    assert not [actor for actor, _, _ in deeds(store) if actor == "ops"]
    lease.end_pass(store, row.connector_id, fence=taken.fence, pass_no=taken.pass_no, paused=False, error=None)
    change_settings(store, row, {"drive_id": "0AE", "credentials": "/keys/robot.json"}, actor="ops")
    assert deeds(store, "change_connector") == [
        ("ops", "change_connector", {"connector": "drive", "kind": "drive", "changed": ["drive_id"]})
    ]


def test_what_was_asked_of_a_connector_is_written_down_when_it_is_gone_too(store: Store, corpus: Corpus) -> None:
    row = ensure_connector(store, corpus.build.scope_id, "drive", "drive", SETTINGS, new_rule=False)
    with store.connection() as connection:
        connection.execute("DELETE FROM headwater.checkpoint WHERE connector_id = %s", (row.connector_id,))
        connection.execute("DELETE FROM headwater.connector WHERE connector_id = %s", (row.connector_id,))
    note_deed(store, row, actor="ops", action="remove_schedule", detail={"every": "15m"})
    assert deeds(store, "remove_schedule") == [
        ("ops", "remove_schedule", {"connector": "drive", "kind": "drive", "every": "15m"})
    ]
