"""What a sync promises of a page: each reader sees his own, nothing is embedded twice, a checkpoint follows what is published."""

import json
from collections.abc import Sequence
from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from activities.contracts import PublishedPage
from activities.store import Store, connector_removal
from activities.store.connectors import find_connector
from headwater import Authorization, Retriever
from headwater.connectors import GrantSet, Throttled
from tests.integration.seen import table
from tests.pipeline.by_hand import ByHand, refusal
from tests.pipeline.harness import SCOPE, SPEC, Shelf, register, states, visible
from tests.pipeline.heard_embedder import HeardEmbedder
from tests.pipeline.ledger import Ledger

ALICE = GrantSet(principal_ids=("alice",))
ALICE_AND_ENG = GrantSet(principal_ids=("alice",), group_ids=("eng",))
BOB = GrantSet(principal_ids=("bob",))
COUNTED = ("upserted", "deleted", "skipped", "withheld", "failed")


class Office:
    """A ledger, a worker that counts what it embeds, and readers."""

    def __init__(self, store: Store, database: str) -> None:
        self.store, self.database, self.ledger = store, database, Ledger()
        self.ledger.register(store)
        self.embedded: list[str] = []
        self.worker = ByHand(
            store, resolve=lambda spec: HeardEmbedder(spec, self._heard), connectors=self.ledger.connect
        )
        self._runs = 0

    def _heard(self, texts: Sequence[str]) -> None:
        self.embedded += texts

    def sync(self, **fields: object) -> PublishedPage:
        """What a pass did."""
        self._runs += 1
        pages = self.worker.sync(run=f"run-{self._runs}", **fields)
        counts = {name: sum(getattr(page, name) for page in pages) for name in COUNTED}
        return PublishedPage.model_validate(counts)

    def found(self, principal: str, *groups: str) -> set[str]:
        who = Authorization(principal_id=principal, tenant_id=SCOPE.tenant_id, group_ids=groups)
        with Retriever.connect(self.database, embedder=SPEC) as retriever:
            return {hit.source_id for hit in retriever.retrieve("the plan", scope=SCOPE, authorization=who).hits}

    def cursor(self) -> str | None:
        (checkpoint,) = table(self.store, "checkpoint")
        cursor: str | None = checkpoint["start_cursor"]
        return cursor

    def status(self, name: str) -> tuple[str, str, str | None]:
        """State, freshness and reason."""
        (source,) = (row for row in table(self.store, "source") if row["source_id"] == f"drive:{name}")
        (status,) = (row for row in table(self.store, "ingestion") if row["source_pk"] == source["source_pk"])
        return status["state"], status["freshness"], status["reason"]


@pytest.fixture
def office(store: Store, database: str) -> Office:
    return Office(store, database)


def test_each_reader_sees_his_own_and_a_replay_embeds_nothing(office: Office) -> None:
    office.ledger.put("a", "The plan of a.", ALICE)
    office.ledger.put("b", "The plan of b.", BOB)
    assert office.sync().upserted == 2
    assert (office.found("alice"), office.found("bob")) == ({"drive:a"}, {"drive:b"})
    office.embedded.clear()
    replayed = office.sync(full=True)
    assert (replayed.upserted, replayed.skipped, office.embedded) == (0, 2, [])


def test_a_checkpoint_that_is_not_moved_costs_no_second_embedding(office: Office) -> None:
    office.ledger.put("a", "The plan of a.", ALICE)
    begun = office.worker.begin(run="run-0")
    listed = office.worker.stage(begun.in_pass)
    assert office.worker.publish(begun.in_pass, listed.page_id).upserted == 1
    office.worker.end(begun.in_pass, error="The checkpoint could not be moved.")
    assert (office.cursor(), len(office.embedded)) == (None, 1)
    office.ledger.fetched.clear()
    assert office.sync().upserted == 0
    assert (office.cursor(), len(office.embedded), office.ledger.fetched) == ("feed 1", 1, [])


def test_a_page_that_deletes_grants_and_withholds_does_all_three(office: Office) -> None:
    for name in ("a", "b", "c"):
        office.ledger.put(name, f"The plan of {name}.", ALICE_AND_ENG)
    office.sync()
    assert office.found("eve", "eng") == office.found("alice") == {"drive:a", "drive:b", "drive:c"}
    office.embedded.clear()
    office.ledger.remove("b")
    office.ledger.share("a", ALICE)
    office.ledger.share("c", GrantSet(withheld="grants_unreadable"))
    did = office.sync()
    assert (did.deleted, did.withheld, did.upserted, office.embedded) == (1, 1, 0, [])
    assert (office.found("alice"), office.found("eve", "eng")) == ({"drive:a"}, set())
    assert office.status("a") == ("indexed", "current", None)
    assert office.status("c") == ("indexed", "unavailable", "grants_unreadable")


def test_what_comes_without_grants_is_withheld_and_never_read(office: Office) -> None:
    office.ledger.put("a", "The plan of a.", GrantSet(withheld="grants_unreadable"))
    did = office.sync()
    assert (did.upserted, did.withheld, did.failed) == (0, 1, 0)
    assert (office.ledger.fetched, office.embedded, office.found("alice")) == ([], [], set())
    assert office.status("a") == ("denied", "current", "grants_unreadable")


def test_a_throttle_waits_as_told_and_moves_nothing(office: Office) -> None:
    office.ledger.put("a", "The plan of a.", ALICE)
    office.sync()
    before = table(office.store, "checkpoint")[0]
    begun = office.worker.begin(run="run-x")
    office.ledger.put("b", "The plan of b.", ALICE)
    for seconds in (0.25, 2.0):
        office.ledger.failing.append(Throttled("The ledger is being read by many.", retry_after_s=seconds))
        with pytest.raises(ApplicationError) as told:
            office.worker.list_page(begun.in_pass)
        assert (told.value.type, told.value.non_retryable) == ("Throttled", False)
        assert told.value.next_retry_delay == timedelta(seconds=seconds)
    after = table(office.store, "checkpoint")[0]
    assert [after[name] for name in ("version", "cursor", "page_id")] == [
        before[name] for name in ("version", "cursor", "page_id")
    ]
    assert office.found("alice") == {"drive:a"}


def test_an_id_that_was_deleted_and_comes_back_has_its_new_grants_alone(office: Office) -> None:
    office.ledger.put("a", "The plan of a.", ALICE_AND_ENG)
    office.sync()
    office.ledger.remove("a")
    assert office.sync().deleted == 1
    assert office.found("alice") == office.found("eve", "eng") == set()
    office.ledger.put("a", "The plan of a, again.", BOB)
    assert office.sync().upserted == 1
    assert (office.found("bob"), office.found("alice"), office.found("eve", "eng")) == ({"drive:a"}, set(), set())
    assert office.status("a") == ("indexed", "current", None)


def test_a_checkpoint_that_a_folder_cannot_read_is_no_reason_to_begin_anew(
    store: Store, tmp_folder_shelf: Shelf
) -> None:
    shelf = tmp_folder_shelf
    shelf.write("a.md", "The plan.\n")
    register(store, shelf)
    worker = ByHand(store)
    worker.sync()
    row = find_connector(store, SCOPE, shelf.name)
    assert row is not None
    with store.connection() as connection:
        unknown = {"value": json.dumps({"v": 2}), "id": row.connector_id}
        connection.execute(
            "UPDATE headwater.checkpoint SET cursor = %(value)s, start_cursor = %(value)s WHERE connector_id = %(id)s",
            unknown,
        )
    begun = worker.begin(run="run-2")
    kind, sentence = refusal(lambda: worker.list_page(begun.in_pass))
    worker.end(begun.in_pass, error=sentence)
    assert kind == "ValidationError" and "`headwater connector remove NAME --keep-sources`" in sentence

    held = visible(store)
    taken = connector_removal.begin_removal(store, row.connector_id, owner="removal", run="1", actor=None)
    connector_removal.keep_page(
        store, row.connector_id, fence=taken.fence, scope_id=row.scope_id, name=row.name, after=0
    )
    connector_removal.drop_connector(store, row.connector_id, fence=taken.fence, deleted=0, actor=None)
    register(store, shelf)
    worker.sync(run="run-3")
    assert visible(store) == held and states(store)[shelf.id_of("a.md")] == ("indexed", None)


@pytest.fixture
def tmp_folder_shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))
