"""A document under another name or in another place: shown as it is called now, without its bytes and without an embedding."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from activities.contracts import Pass
from activities.parsers import ParsedDocument
from activities.store import Store
from activities.store.generations import pin, set_generation
from headwater.chunking.headings import Heading
from headwater.contracts.deletion import Reason
from headwater.embedders import Embedder
from headwater.models import Authorization, Citation
from headwater.retriever import Retriever
from tests.integration.asked import delete_sources
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.hiding import hide
from tests.pipeline.by_hand import ByHand, InlineParser, refusal
from tests.pipeline.cabinet import Cabinet
from tests.pipeline.editions import CHUNKING, parts_of
from tests.pipeline.harness import SCOPE, SPEC, states, visible
from tests.pipeline.heard_embedder import HeardEmbedder

ID, OTHER = "cabinet:1", "cabinet:2"
TEXT = "\n\n".join(parts_of(1, 1)[:3])
NEWER = "\n\n".join(parts_of(1, 2)[:3])
READER = Authorization(principal_id="anybody", tenant_id=SCOPE.tenant_id)


class Desk:
    """A cabinet with one paper, a worker, and what was embedded since it was last looked at."""

    def __init__(self, store: Store, dsn: str, *, parser: Any = None) -> None:
        self.store, self.dsn = store, dsn
        self.cabinet = Cabinet()
        self.cabinet.put(ID, TEXT, "Plan.txt", folder="drafts")
        self.corpus = self.cabinet.register(store, chunking=CHUNKING)
        self.embedded: list[str] = []
        self.worker = ByHand(store, resolve=self._resolve, parser=parser, connectors=self.cabinet.connect)

    def _resolve(self, spec: str) -> Embedder:
        return HeardEmbedder(spec, self.embedded.extend)

    def sync(self, **fields: Any) -> list[tuple[int, int, int, int]]:
        """Published, deleted, unchanged and failed of each page."""
        return [(page.upserted, page.deleted, page.skipped, page.failed) for page in self.worker.sync(**fields)]

    def finish(self, in_pass: Pass, page_id: int) -> None:
        """Stages a page that was listed."""
        for batch_no in range(self.worker.prepare(in_pass, page_id).batches):
            self.worker.embed(in_pass, page_id, batch_no)

    def forget_counts(self) -> None:
        self.embedded.clear()
        self.cabinet.fetched.clear()
        self.cabinet.described.clear()

    @property
    def asked_for(self) -> tuple[list[str], list[str]]:
        """What was fetched, and what was embedded."""
        return self.cabinet.fetched, self.embedded

    def citation(self, source_id: str = ID) -> Citation | None:
        """How an answer cites the source; None: no answer does."""
        with Retriever.connect(self.dsn, embedder=SPEC) as retriever:
            result = retriever.retrieve("book", scope=SCOPE, authorization=READER, top_k=32)
        return next((each for each in result.citations if each.source_id == source_id), None)

    def title(self, source_id: str = ID) -> str | None:
        """The title that readers see."""
        cited = self.citation(source_id)
        return None if cited is None else cited.title

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.store.connection() as connection:
            return connection.execute(query.encode()).fetchall()

    def chunks(self) -> list[tuple[Any, ...]]:
        """What readers see of the paper's passages, vectors and all."""
        return self.rows("""
          SELECT c.chunk_no, c.start_cp, c.end_cp, c.emb::text, c.metadata, c.body
            FROM headwater.scope p
            JOIN headwater.span x ON x.build_id = p.live_build AND x.gen_from <= p.live_gen AND x.gen_to > p.live_gen
            JOIN headwater.chunk c ON c.rev_id = x.rev_id ORDER BY c.rev_id, c.chunk_no""")


@pytest.fixture(scope="module")
def one_store(postgres: str, template_db: str) -> Iterator[Store]:
    """One database for all these tests: each begins with empty tables."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE labels TEMPLATE {template_db} STRATEGY = FILE_COPY".encode())
        try:
            with Store.open(make_conninfo(postgres, dbname="labels")) as store:
                yield store
        finally:
            admin.execute("DROP DATABASE labels WITH (FORCE)")


@pytest.fixture
def store(one_store: Store) -> Store:
    with one_store.connection() as connection:
        # Chunks and tombstones refer to nothing, so that they are not taken along.
        connection.execute(
            "TRUNCATE headwater.scope, headwater.space, headwater.grantee, headwater.chunk, headwater.tombstone "
            "RESTART IDENTITY CASCADE"
        )
    return one_store


@pytest.fixture
def dsn(postgres: str) -> str:
    return make_conninfo(postgres, dbname="labels")


@pytest.fixture
def desk(store: Store, dsn: str) -> Desk:
    """A paper that was synced, and nothing counted yet."""
    made = Desk(store, dsn)
    assert made.sync() == [(1, 0, 0, 0)]
    made.forget_counts()
    return made


def test_a_renamed_and_moved_document_is_shown_anew_without_a_download(desk: Desk) -> None:
    before = desk.chunks()
    desk.cabinet.change(ID, name="Final plan.txt", folder="contracts")
    assert desk.sync() == [(1, 0, 0, 0)]
    assert desk.asked_for == ([], [])
    cited = desk.citation()
    assert cited is not None
    assert (cited.title, cited.uri, cited.revision) == (
        "Final plan.txt", "https://cabinet.example/contracts/Final plan.txt", 2,
    )  # fmt: skip
    assert desk.rows("SELECT metadata FROM headwater.document_version ORDER BY version_id")[-1] == (
        {"path": "contracts/Final plan.txt"},
    )
    assert desk.chunks() == before
    assert desk.sync() == [(0, 0, 0, 0)]
    assert desk.cabinet.described == [ID]  # once, and not again when nothing changed
    desk.cabinet.change(ID, name="Last plan.txt")
    desk.sync()
    assert desk.asked_for == ([], [])
    assert desk.title() == "Last plan.txt"


def test_nothing_is_published_where_another_label_shows_the_same(desk: Desk) -> None:
    generation = desk.worker.sync()[0].generation
    with desk.store.connection() as connection:
        connection.execute("UPDATE headwater.ingestion SET label = 'an older fingerprint of the same'")
    (page,) = desk.worker.sync()
    assert (page.upserted, page.skipped, page.generation) == (0, 1, generation)
    assert desk.asked_for == ([], [])
    desk.cabinet.described.clear()
    desk.sync()
    assert desk.cabinet.described == []


def test_a_document_whose_bytes_change_too_is_read(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt", data=NEWER.encode())
    assert desk.sync() == [(1, 0, 0, 0)]
    assert desk.cabinet.fetched == [ID]
    assert desk.title() == "Final plan.txt"
    assert visible(desk.store)[ID].startswith(parts_of(1, 2)[0])


def test_the_same_bytes_of_another_version_get_the_new_name_too(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt", touched=1)
    assert desk.sync() == [(1, 0, 0, 0)]
    assert desk.asked_for == ([ID], [])
    assert desk.title() == "Final plan.txt"


def test_a_name_that_tells_to_read_it_otherwise_is_reason_to_read_it(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Plan.md")
    desk.sync()
    assert desk.cabinet.fetched == [ID]
    assert desk.rows("SELECT parser FROM headwater.ingestion") == [("markdown/1",)]
    desk.cabinet.fetched.clear()
    desk.cabinet.change(ID, name="Another plan.md")
    desk.sync()
    assert desk.asked_for == ([], [])
    assert desk.title() == "Another plan.md"


def test_a_document_without_a_given_title_is_read_for_its_own(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt", is_titled=False)
    desk.sync()
    assert desk.cabinet.fetched == [ID]
    assert desk.title() == "Final plan.txt"


def test_a_full_sync_reads_what_was_renamed(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    desk.sync(full=True)
    assert desk.cabinet.fetched == [ID]
    assert desk.title() == "Final plan.txt"


def test_a_document_that_vanishes_before_it_is_described_is_deleted(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    begun = desk.worker.begin().in_pass
    listed = desk.worker.list_page(begun)
    del desk.cabinet.papers[ID]
    desk.worker.prepare(begun, listed.page_id)
    assert desk.worker.publish(begun, listed.page_id).deleted == 1
    assert visible(desk.store) == {}


@pytest.mark.parametrize("spoil", [{"data": b"# not readable"}, {"is_refused": True, "touched": 1}])
def test_a_renamed_document_that_failed_is_not_tried_again(desk: Desk, spoil: dict[str, Any]) -> None:
    desk.cabinet.change(ID, **spoil)
    assert desk.sync() == [(0, 0, 0, 1)]
    told = states(desk.store)
    desk.forget_counts()
    desk.cabinet.change(ID, name="Final plan.txt")
    for _ in range(2):
        desk.sync()
        assert desk.asked_for == ([], [])
        assert states(desk.store) == told
    assert desk.cabinet.described == [ID]
    assert desk.title() == "Plan.txt"  # of the text that is shown, which is an older one


def test_a_document_that_failed_is_tried_again_under_a_name_that_tells_to_read_it_otherwise(desk: Desk) -> None:
    desk.cabinet.change(ID, data=b"# a heading")
    desk.sync()
    desk.cabinet.change(ID, name="Plan.md")
    desk.forget_counts()
    desk.sync()
    assert desk.cabinet.fetched == [ID]


def test_the_layout_of_the_text_is_kept(store: Store, dsn: str) -> None:
    class Pages(InlineParser):
        def parse(self, name: str, data: bytes, media_type: str | None, max_chars: int) -> ParsedDocument:
            parts = [data.decode().index(part) for part in parts_of(1, 1)[:3]]
            headings = [Heading(start, 2, f"Chapter {number}") for number, start in enumerate(parts)]
            return ParsedDocument(
                data.decode(), headings=headings, page_starts=parts, state="partial", reason="A page."
            )

    desk = Desk(store, dsn, parser=Pages())
    desk.sync()
    before, told = desk.chunks(), states(store)
    assert [set(metadata) for *_, metadata, _ in before] == [{"heading", "page"}] * 3
    desk.forget_counts()
    desk.cabinet.change(ID, name="Final plan.txt")
    desk.sync()
    assert desk.chunks() == before
    assert states(store) == told == {ID: ("partial", "A page.")}
    cited = desk.citation()
    assert cited is not None and cited.locator is not None
    assert desk.asked_for == ([], [])


def test_a_new_name_is_taken_back_by_a_rollback_and_comes_again(desk: Desk) -> None:
    before = desk.worker.sync()[0].generation
    desk.cabinet.change(ID, name="Final plan.txt")
    desk.sync()
    set_generation(desk.store, SCOPE, before)
    assert desk.title() == "Plan.txt"
    desk.embedded.clear()
    desk.sync()
    assert desk.title() == "Final plan.txt"
    assert desk.embedded == []


def test_a_new_name_that_a_rollback_overtakes_is_published_with_the_text_it_was_staged_with(desk: Desk) -> None:
    first = desk.worker.sync()[0].generation
    desk.cabinet.change(ID, data=NEWER.encode())
    desk.sync()
    desk.forget_counts()
    desk.cabinet.change(ID, name="Final plan.txt")
    begun = desk.worker.begin().in_pass
    listed = desk.worker.stage(begun)
    set_generation(desk.store, SCOPE, first)
    desk.worker.publish(begun, listed.page_id)
    assert desk.asked_for == ([], [])
    assert desk.title() == "Final plan.txt"
    assert visible(desk.store)[ID].startswith(parts_of(1, 2)[0])


def test_a_rollback_between_listing_and_staging_makes_it_read(desk: Desk) -> None:
    first = desk.worker.sync()[0].generation
    desk.cabinet.change(ID, data=NEWER.encode())
    desk.sync()
    desk.cabinet.change(ID, name="Final plan.txt")
    desk.forget_counts()
    begun = desk.worker.begin().in_pass
    listed = desk.worker.list_page(begun)
    set_generation(desk.store, SCOPE, first)
    desk.finish(begun, listed.page_id)
    desk.worker.publish(begun, listed.page_id)
    assert desk.cabinet.fetched == [ID]
    assert visible(desk.store)[ID].startswith(parts_of(1, 2)[0])


def test_a_rollback_before_the_text_is_looked_up_makes_it_read(desk: Desk) -> None:
    first = desk.worker.sync()[0].generation
    desk.cabinet.change(ID, data=NEWER.encode())
    desk.sync()
    desk.cabinet.change(ID, name="Final plan.txt")
    desk.forget_counts()
    desk.cabinet.while_describing = lambda: set_generation(desk.store, SCOPE, first)
    desk.sync()
    assert desk.cabinet.fetched == [ID]
    assert desk.title() == "Final plan.txt"
    assert visible(desk.store)[ID].startswith(parts_of(1, 2)[0])


def test_readers_of_a_pinned_corpus_see_the_new_name_when_it_is_unpinned(desk: Desk) -> None:
    pin(desk.store, SCOPE, pinned=True)
    desk.cabinet.change(ID, data=NEWER.encode())
    desk.sync()
    desk.forget_counts()
    desk.cabinet.change(ID, name="Final plan.txt")
    assert desk.sync() == [(1, 0, 0, 0)]
    assert desk.asked_for == ([], [])
    assert desk.title() == "Plan.txt"
    pin(desk.store, SCOPE, pinned=False)
    assert desk.title() == "Final plan.txt"
    assert visible(desk.store)[ID].startswith(parts_of(1, 2)[0])


@pytest.mark.parametrize("is_staged", [True, False])
def test_a_deletion_beats_a_new_name(desk: Desk, is_staged: bool) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    begun = desk.worker.begin().in_pass
    listed = desk.worker.stage(begun) if is_staged else desk.worker.list_page(begun)
    delete_sources(desk.store, desk.corpus.build.scope_id, [ID])
    if not is_staged:
        desk.finish(begun, listed.page_id)
    desk.worker.publish(begun, listed.page_id)
    # What was read after the deletion is another document with the same id.
    assert (visible(desk.store) == {}) is is_staged
    assert desk.cabinet.fetched == ([] if is_staged else [ID])


def test_a_worker_that_was_replaced_publishes_no_name(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    begun = desk.worker.begin().in_pass
    listed = desk.worker.stage(begun)
    desk.cabinet.change(ID, name="Last plan.txt")
    newer = desk.worker.begin(run="run-2").in_pass
    assert refusal(lambda: desk.worker.publish(begun, listed.page_id))[0] == "StaleFence"
    listed = desk.worker.stage(newer)
    desk.worker.publish(newer, listed.page_id)
    assert desk.title() == "Last plan.txt"
    assert desk.asked_for == ([], [])


@pytest.mark.parametrize("is_staged", [True, False])
def test_a_new_name_that_a_flip_overtakes_is_published_into_the_new_build(desk: Desk, is_staged: bool) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    begun = desk.worker.begin().in_pass
    listed = desk.worker.stage(begun) if is_staged else desk.worker.list_page(begun)
    green = start_build(desk.store, desk.corpus)
    flip(desk.store, desk.corpus, green)
    assert desk.title() == "Plan.txt"
    if not is_staged:
        desk.finish(begun, listed.page_id)
    assert desk.worker.publish(begun, listed.page_id).is_stale_build
    desk.worker.restage(begun, listed.page_id)
    assert desk.worker.publish(begun, listed.page_id).upserted == 1
    assert desk.title() == "Final plan.txt"
    assert desk.rows(f"SELECT count(*) FROM headwater.span WHERE build_id = {green}") == [(2,)]
    assert desk.asked_for == ([], [])


@pytest.mark.parametrize("reason", ["forgotten", "revoked", "legal_hold"])
def test_a_new_name_brings_nothing_back_that_must_not_be_served(desk: Desk, reason: Reason) -> None:
    hide(desk.store, desk.corpus, ID, reason, by=READER)
    desk.cabinet.change(ID, name="Final plan.txt")
    assert desk.sync() == [(0, 0, 0, 0)]
    assert desk.title() is None
    assert (desk.cabinet.described, *desk.asked_for) == ([], [], [])


@pytest.mark.parametrize("is_staged", [True, False])
def test_what_is_forgotten_while_it_is_renamed_stays_forgotten(desk: Desk, is_staged: bool) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    begun = desk.worker.begin().in_pass
    listed = desk.worker.stage(begun) if is_staged else desk.worker.list_page(begun)
    hide(desk.store, desk.corpus, ID, by=READER)
    if not is_staged:
        desk.finish(begun, listed.page_id)
    assert desk.worker.publish(begun, listed.page_id).withheld == 1
    assert desk.title() is None


def test_what_is_forgotten_before_its_text_is_looked_up_is_not_staged_from_it(desk: Desk) -> None:
    desk.cabinet.change(ID, name="Final plan.txt")
    desk.cabinet.while_describing = lambda: hide(desk.store, desk.corpus, ID, by=READER)
    (page,) = desk.worker.sync()
    assert page.withheld == 1
    assert desk.title() is None
    assert desk.cabinet.fetched == [ID]


def test_what_it_rests_on_is_kept(desk: Desk) -> None:
    desk.cabinet.put(OTHER, NEWER, "Notes.txt", lineage=(ID,))
    desk.sync()
    desk.forget_counts()
    desk.cabinet.change(OTHER, name="Old notes.txt")
    desk.sync()
    assert desk.asked_for == ([], [])
    assert desk.rows("SELECT parent_id FROM headwater.lineage") == [(ID,), (ID,)]
    with desk.store.connection() as connection:
        # As when what it rests on was forgotten and came back: what the text says may be of before.
        connection.execute("UPDATE headwater.source SET renewed_gen = 1000 WHERE source_id = %s", [ID])
    desk.cabinet.change(OTHER, name="Older notes.txt")
    desk.sync()
    assert desk.cabinet.fetched == [OTHER]
