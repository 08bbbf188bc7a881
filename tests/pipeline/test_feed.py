"""A connector that follows a feed of changes: what it does not name stays, what it remembers moves with its checkpoint."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.store import Store
from activities.store.generations import set_generation
from headwater.connectors import DocumentDenied, DocumentUnsupported, ExpiringGrant, GrantSet
from headwater.errors import TransientError
from tests.integration.seen import table
from tests.pipeline.by_hand import ByHand, refusal
from tests.pipeline.harness import SCOPE, states, visible
from tests.pipeline.ledger import ANN, Ledger

BOB = GrantSet(principal_ids=("bob",))
HIDDEN = GrantSet(withheld="grants_unreadable")


class Desk:
    """A ledger with three entries that was synced once."""

    def __init__(self, store: Store) -> None:
        self.store, self.ledger = store, Ledger()
        self.ledger.register(store)
        for name in ("a", "b", "c"):
            self.ledger.put(name, f"Text of {name}.")
        self.worker = ByHand(store, connectors=self.ledger.connect)
        self.sync()
        self.ledger.fetched.clear()
        self.ledger.begun.clear()

    def sync(self, **fields: object) -> dict[str, int]:
        """One pass: what its pages did, summed up."""
        pages = self.worker.sync(**fields)
        return {name: sum(getattr(page, name) for page in pages) for name in ("upserted", "deleted", "withheld")}

    def held(self) -> list[str]:
        return sorted(visible(self.store))

    def remembered(self) -> list[str]:
        return sorted(row["node"] for row in table(self.store, "link"))

    def readers(self, name: str) -> list[str]:
        rows = {row["grantee_id"]: row["name"] for row in table(self.store, "grantee")}
        (source,) = (row for row in table(self.store, "source") if row["source_id"] == f"drive:{name}")
        return sorted(rows[number] for number in [*source["grants"], *source["expiring"]])


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


def test_what_a_feed_does_not_name_is_not_gone(desk: Desk) -> None:
    desk.ledger.put("d", "Text of d.")
    assert desk.sync() == {"upserted": 1, "deleted": 0, "withheld": 0}
    assert desk.held() == ["drive:a", "drive:b", "drive:c", "drive:d"] and desk.ledger.fetched == ["d"]


def test_what_a_feed_names_as_removed_is_deleted_and_forgotten(desk: Desk) -> None:
    desk.ledger.remove("b")
    assert desk.sync()["deleted"] == 1
    assert desk.held() == ["drive:a", "drive:c"] and desk.remembered() == ["a", "c"]


def test_a_listing_of_everything_sweeps_what_it_did_not_see(desk: Desk) -> None:
    desk.ledger.remove("b")
    desk.ledger.log.pop()  # the feed never tells
    assert desk.sync()["deleted"] == 0
    assert desk.sync(full=True)["deleted"] == 1
    assert desk.ledger.begun[-1] is None and desk.remembered() == ["a", "c"]


def test_a_pass_that_reads_everything_anew_and_is_given_up_is_followed_by_another_one(desk: Desk) -> None:
    begun = desk.worker.begin(full=True)
    page = desk.worker.stage(begun.in_pass, page_size=2)
    desk.worker.publish(begun.in_pass, page.page_id)
    desk.worker.advance(begun.in_pass, page.page_id)
    assert desk.remembered() == ["a", "b"], "what it knew before is forgotten"
    desk.ledger.begun.clear()
    desk.sync(run="run-2")
    assert desk.ledger.begun == [None] and desk.remembered() == ["a", "b", "c"]


def test_a_page_whose_listing_failed_is_listed_with_the_memory_it_had(desk: Desk) -> None:
    desk.ledger.remove("b")
    desk.ledger.failing.append(TransientError("The ledger is being written."))
    begun = desk.worker.begin()
    assert refusal(lambda: desk.worker.list_page(begun.in_pass))[0] == "TransientError"
    desk.worker.end(begun.in_pass, error="It failed.")
    assert desk.sync(run="run-2")["deleted"] == 1, "what the failed attempt wrote was not remembered"


def test_a_cursor_that_is_lost_makes_a_pass_from_the_beginning(desk: Desk) -> None:
    desk.ledger.remove("b")
    desk.ledger.forgot.add(f"feed {len(desk.ledger.log) - 1}")
    begun = desk.worker.begin()
    assert refusal(lambda: desk.worker.list_page(begun.in_pass))[0] == "InvalidCursor"
    desk.worker.lose_cursor(begun.in_pass)
    assert desk.sync(begun=2)["deleted"] == 1
    assert desk.ledger.begun == [None] and desk.ledger.fetched == [], "what is unchanged is not read again"


def test_a_pass_that_fails_keeps_the_cursor(desk: Desk) -> None:
    begun = desk.worker.begin()
    desk.worker.end(begun.in_pass, error="It failed.")
    desk.sync(run="run-2")
    assert desk.ledger.begun == ["feed 3"]


def test_new_grants_are_applied_without_reading(desk: Desk) -> None:
    desk.ledger.share("a", BOB)
    assert desk.sync() == {"upserted": 0, "deleted": 0, "withheld": 0}
    assert (desk.readers("a"), desk.readers("b"), desk.ledger.fetched) == (["bob"], ["ann"], [])


def test_the_same_grants_are_applied_once(desk: Desk) -> None:
    desk.ledger.share("a", BOB)
    desk.sync()
    before = table(desk.store, "source")
    desk.ledger.share("a", BOB)
    desk.sync()
    assert table(desk.store, "source") == before


def test_grants_that_end_are_kept_with_their_end(desk: Desk) -> None:
    end = datetime.now(UTC) + timedelta(hours=1)
    desk.ledger.share("a", GrantSet(principal_ids=("bob",), expiring=(ExpiringGrant("group", "eng", end),)))
    desk.sync()
    assert desk.readers("a") == ["bob", "eng"]
    assert [row["expires_at"] for row in table(desk.store, "expiring_grant")] == [end]
    before = table(desk.store, "source")
    desk.ledger.share("a", GrantSet(principal_ids=("bob",), expiring=(ExpiringGrant("group", "eng", end),)))
    desk.sync()
    assert table(desk.store, "source") == before


def test_what_is_withheld_is_not_read_and_shown_to_nobody(desk: Desk) -> None:
    desk.ledger.put("d", "Text of d.", HIDDEN)
    desk.ledger.share("a", HIDDEN)
    assert desk.sync() == {"upserted": 0, "deleted": 0, "withheld": 2}
    assert states(desk.store)["drive:d"] == ("denied", "grants_unreadable")
    assert states(desk.store)["drive:a"] == ("indexed", "grants_unreadable")
    assert desk.readers("a") == desk.readers("d") == [] and desk.ledger.fetched == []
    (status,) = (row for row in table(desk.store, "ingestion") if row["freshness"] == "unavailable")
    assert status["state"] == "indexed"


def test_what_is_withheld_still_is_told_once_and_makes_no_pass_over_everything(desk: Desk) -> None:
    desk.ledger.share("a", HIDDEN)
    desk.sync()
    desk.ledger.begun.clear()
    desk.ledger.share("a", HIDDEN)
    assert desk.sync()["withheld"] == 0
    assert None not in desk.ledger.begun


def test_what_was_withheld_is_shown_when_its_grants_are_known_again(desk: Desk) -> None:
    desk.ledger.put("d", "Text of d.", HIDDEN)
    desk.ledger.share("a", HIDDEN)
    desk.sync()
    desk.ledger.share("a", ANN)
    desk.ledger.share("d", ANN)
    assert desk.sync()["upserted"] == 1, "the text of a is the one that it had"
    assert desk.readers("a") == desk.readers("d") == ["ann"]
    assert states(desk.store)["drive:a"] == states(desk.store)["drive:d"] == ("indexed", None)


def test_what_its_origin_refuses_is_withheld_and_asked_for_again_at_another_version(desk: Desk) -> None:
    desk.ledger.put("d", "Text of d.")
    for name in ("a", "d"):
        desk.ledger.refuse(name, DocumentDenied("It may not be downloaded."))
    assert desk.sync() == {"upserted": 0, "deleted": 0, "withheld": 2}
    assert states(desk.store)["drive:d"] == ("denied", "It may not be downloaded.")
    assert states(desk.store)["drive:a"] == ("indexed", "It may not be downloaded.")
    assert desk.readers("a") == desk.readers("d") == [], "it had readers before"
    desk.ledger.fetched.clear()
    desk.ledger.begun.clear()
    desk.ledger.share("a", BOB)
    desk.ledger.log.append("d")
    assert desk.sync()["withheld"] == 0
    assert desk.ledger.fetched == [] and None not in desk.ledger.begun and desk.readers("a") == []
    for name in ("a", "d"):
        desk.ledger.refuse(name, None)
    assert desk.sync()["upserted"] == 1, "the text of a is the one that it had"
    assert (desk.readers("a"), desk.readers("d")) == (["bob"], ["ann"])
    assert states(desk.store)["drive:a"] == states(desk.store)["drive:d"] == ("indexed", None)
    before = table(desk.store, "membership")
    assert all(row["access"] for row in before)


def test_what_has_no_bytes_is_unsupported(desk: Desk) -> None:
    desk.ledger.refuse("a", DocumentUnsupported("A form has no text to read."))
    desk.sync()
    assert states(desk.store)["drive:a"] == ("unsupported", "A form has no text to read.")


def test_what_was_rolled_back_is_read_again_although_the_feed_never_names_it(desk: Desk) -> None:
    before = table(desk.store, "scope")[0]["live_gen"]
    desk.ledger.put("a", "Newer text of a.")
    desk.sync()
    set_generation(desk.store, SCOPE, before)
    assert visible(desk.store)["drive:a"] == "Text of a."
    desk.ledger.begun.clear()
    desk.sync()
    assert visible(desk.store)["drive:a"] == "Newer text of a." and desk.ledger.begun == [None]
    desk.sync()
    assert desk.ledger.begun == [None, "feed 4"]


def test_a_new_parser_reads_what_the_feed_never_names(desk: Desk) -> None:
    with desk.store.connection() as connection:
        connection.execute("UPDATE headwater.ingestion SET parser = 'text/0' WHERE source_pk = 1")
    desk.sync()
    assert desk.ledger.begun == [None] and len(desk.ledger.fetched) == 1


def test_failed_sources_are_counted_by_a_pass_that_saw_changes_alone(desk: Desk) -> None:
    desk.ledger.put("d", "# broken")
    desk.sync()
    begun = desk.worker.begin()
    page = desk.worker.stage(begun.in_pass)
    desk.worker.publish(begun.in_pass, page.page_id)
    desk.worker.advance(begun.in_pass, page.page_id)
    assert desk.worker.end(begun.in_pass).failed == 1


def test_whom_its_origin_lets_in_sees_no_text_that_is_older_than_that(desk: Desk) -> None:
    desk.ledger.put("a", "# The passage is taken out, and it cannot be read.", BOB)
    desk.sync()
    assert (desk.readers("a"), visible(desk.store)["drive:a"]) == ([], "Text of a.")
    desk.ledger.share("a", GrantSet(principal_ids=("ann", "bob")))
    desk.sync(run="run-2")
    assert (desk.readers("a"), desk.ledger.begun) == ([], ["feed 3", "feed 4"]), (
        "and it is no reason to list everything"
    )
    desk.ledger.put("a", "The new text.", GrantSet(principal_ids=("ann", "bob")))
    desk.sync(run="run-3")
    assert (desk.readers("a"), visible(desk.store)["drive:a"]) == (["ann", "bob"], "The new text.")


def test_whom_its_origin_lets_in_no_more_sees_no_older_text_either(desk: Desk) -> None:
    desk.ledger.share("a", GrantSet(principal_ids=("ann", "bob")))
    desk.sync()
    desk.ledger.put("a", "# It cannot be read.", GrantSet(principal_ids=("bob", "eve")))
    desk.sync(run="run-2")
    assert (desk.readers("a"), states(desk.store)["drive:a"][0]) == (["bob"], "failed")
