"""What a sync of a folder leaves: what is there is visible, what is gone is not, and nothing is paid for twice."""

import os

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from activities.connectors import AccessRule
from activities.store import Store
from headwater.testing import HashEmbedder
from tests.pipeline.harness import Pipeline, Shelf, running_pipeline
from workers.options import WorkerOptions


async def test_every_document_becomes_visible(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("leave.md", "# Leave\n\nThirty days a year.")
    shelf.write("it/wifi.txt", "The password changes on Mondays.")
    shelf.write("empty.txt", "")
    pipeline.register(shelf)
    result = await pipeline.sync(shelf)
    assert (result.upserted, result.failed, result.pages, result.exhausted) == (3, 0, 1, True)
    assert result.embedded_chunks == 2
    assert pipeline.visible() == {
        shelf.id_of("leave.md"): "# Leave\n\nThirty days a year.",
        shelf.id_of("it/wifi.txt"): "The password changes on Mondays.",
        shelf.id_of("empty.txt"): "",
    }
    assert pipeline.states()[shelf.id_of("empty.txt")] == ("empty", None)


async def test_a_second_sync_changes_nothing(pipeline: Pipeline, shelf: Shelf) -> None:
    for number in range(5):
        shelf.write(f"{number}.md", f"Document {number}")
    pipeline.register(shelf)
    first = await pipeline.sync(shelf)
    second = await pipeline.sync(shelf)
    assert (second.upserted, second.skipped, second.embedded_chunks) == (0, 5, 0)
    assert second.generation == first.generation


async def test_an_edit_embeds_only_the_changed_chunks(pipeline: Pipeline, shelf: Shelf) -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 150 for number in range(6)]
    shelf.write("long.txt", "\n\n".join(paragraphs))
    pipeline.register(shelf)
    first = await pipeline.sync(shelf)
    shelf.write("long.txt", "\n\n".join([*paragraphs[:5], paragraphs[5] + "changed"]))
    second = await pipeline.sync(shelf)
    assert second.upserted == 1
    assert second.embedded_chunks == 1
    assert second.reused_chunks == first.embedded_chunks - 1
    assert pipeline.visible()[shelf.id_of("long.txt")].endswith("changed")


async def test_a_deleted_file_goes_and_a_renamed_one_embeds_nothing(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    shelf.write("b.md", "Beta")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    (shelf.root / "a.md").unlink()
    (shelf.root / "b.md").rename(shelf.root / "c d#é.md")
    result = await pipeline.sync(shelf)
    assert (result.deleted, result.upserted, result.embedded_chunks, result.reused_chunks) == (2, 1, 0, 1)
    assert pipeline.visible() == {shelf.id_of("c%20d%23%C3%A9.md"): "Beta"}


async def test_a_touched_file_is_not_published_again(pipeline: Pipeline, shelf: Shelf) -> None:
    file = shelf.write("a.md", "Alpha")
    pipeline.register(shelf)
    first = await pipeline.sync(shelf)
    os.utime(file, (1, 1))
    second = await pipeline.sync(shelf)
    assert (second.upserted, second.skipped, second.generation) == (0, 1, first.generation)


async def test_full_reads_everything_again(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    result = await pipeline.sync(shelf, full=True)
    assert (result.skipped, result.upserted, result.embedded_chunks) == (1, 0, 0)


async def test_a_bad_document_costs_only_itself_and_is_counted_every_time(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("broken.pdf", b"%PDF-1.4\nnothing that follows is a document")
    shelf.write("archive.zip", b"PK\x03\x04" + bytes(100))
    shelf.write("good.md", "Good")
    pipeline.register(shelf)
    for healthy in ("upserted", "skipped"):
        result = await pipeline.sync(shelf)
        assert (result.failed, getattr(result, healthy)) == (2, 1)
        assert {(failure.source_id, failure.state) for failure in result.failures} == {
            (shelf.id_of("broken.pdf"), "failed"),
            (shelf.id_of("archive.zip"), "unsupported"),
        }
    assert list(pipeline.visible()) == [shelf.id_of("good.md")]


async def test_a_document_that_breaks_keeps_its_last_good_text(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    shelf.write("a.md", b"\x00\x01\x02\x03" * 100)
    result = await pipeline.sync(shelf)
    assert result.failed == 1
    assert pipeline.visible() == {shelf.id_of("a.md"): "Alpha"}
    assert pipeline.states()[shelf.id_of("a.md")][0] == "unsupported"


async def test_many_pages_are_one_corpus(pipeline: Pipeline, shelf: Shelf) -> None:
    for number in range(250):
        shelf.write(f"{number % 7}/{number}.md", f"Document {number}")
    pipeline.register(shelf)
    result = await pipeline.sync(shelf)
    assert (result.upserted, result.pages) == (250, 3)
    assert len(pipeline.visible()) == 250


async def test_more_deletions_than_a_page_holds(pipeline: Pipeline, shelf: Shelf) -> None:
    for number in range(25):
        shelf.write(f"{number}.md", f"Document {number}")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    for number in range(1, 25):
        (shelf.root / f"{number}.md").unlink()
    result = await pipeline.sync(shelf, page_size=10)
    assert (result.deleted, result.skipped) == (24, 1)
    assert list(pipeline.visible()) == [shelf.id_of("0.md")]


async def test_max_pages_stops_and_the_next_sync_goes_on(pipeline: Pipeline, shelf: Shelf) -> None:
    for number in range(30):
        shelf.write(f"{number:02}.md", f"Document {number}")
    pipeline.register(shelf)
    first = await pipeline.sync(shelf, page_size=10, max_pages=1)
    assert (first.upserted, first.exhausted) == (10, False)
    rest = await pipeline.sync(shelf, page_size=10)
    assert (rest.upserted, rest.skipped, rest.deleted, rest.exhausted) == (20, 0, 0, True)
    assert len(pipeline.visible()) == 30


async def test_two_folders_of_one_corpus_stay_apart(pipeline: Pipeline, shelf: Shelf) -> None:
    other = Shelf(shelf.root.parent / "other", name="other")
    shelf.write("README.md", "One")
    other.write("README.md", "Two")
    pipeline.register(shelf)
    pipeline.register(other)
    await pipeline.sync(shelf)
    await pipeline.sync(other)
    (other.root / "README.md").unlink()
    result = await pipeline.sync(other)
    assert result.deleted == 1
    assert pipeline.visible() == {shelf.id_of("README.md"): "One"}


async def test_a_folder_that_is_gone_deletes_nothing(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    shelf.root.rename(shelf.root.parent / "away")
    with pytest.raises(WorkflowFailureError):
        await pipeline.sync(shelf)
    assert pipeline.visible() == {shelf.id_of("a.md"): "Alpha"}
    (shelf.root.parent / "away").rename(shelf.root)
    assert (await pipeline.sync(shelf)).deleted == 0


async def test_a_new_rule_changes_grants_without_embedding(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    pipeline.register(shelf, access=None)
    await pipeline.sync(shelf)
    assert grants_of(pipeline) == {shelf.id_of("a.md"): (0, [])}
    pipeline.register(shelf, access=AccessRule.from_grants(["user:alice", "group:eng"]))
    result = await pipeline.sync(shelf)
    assert (result.embedded_chunks, result.upserted, result.skipped) == (0, 0, 1)
    assert grants_of(pipeline) == {shelf.id_of("a.md"): (1, ["alice", "eng"])}
    await pipeline.sync(shelf)
    with pipeline.store.connection() as conn:
        renewed = conn.execute(b"SELECT source_id FROM headwater.page_item WHERE grants IS NOT NULL").fetchall()
    assert renewed == [], "a rule that was applied is not applied again"


async def test_a_file_that_comes_back_has_the_rule_and_no_old_grants(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    pipeline.register(shelf, access=AccessRule.from_grants(["user:alice"]))
    await pipeline.sync(shelf)
    (shelf.root / "a.md").unlink()
    await pipeline.sync(shelf)
    assert grants_of(pipeline)[shelf.id_of("a.md")][1] == []
    pipeline.register(shelf, access=AccessRule.from_grants(["user:bob"]))
    shelf.write("a.md", "Alpha")
    await pipeline.sync(shelf)
    assert pipeline.visible() == {shelf.id_of("a.md"): "Alpha"}
    assert grants_of(pipeline)[shelf.id_of("a.md")][1] == ["bob"]


def grants_of(pipeline: Pipeline) -> dict[str, tuple[int, list[str]]]:
    """Access version and names, by source."""
    sql = f"""SELECT s.source_id, s.access_version,
                     array(SELECT g.name FROM "{pipeline.store.schema}".grantee g WHERE g.grantee_id = ANY (s.grants) ORDER BY 1)
                FROM "{pipeline.store.schema}".source s"""
    with pipeline.store.connection() as conn:
        return {row[0]: (row[1], row[2]) for row in conn.execute(sql.encode())}


async def test_a_folder_that_goes_while_it_is_read_fails_no_document(
    store: Store, temporal_client: Client, shelf: Shelf
) -> None:
    for number in range(20):
        shelf.write(f"{number:02}.md", f"Document {number}")
    away = shelf.root.parent / "away"

    class Leaving(HashEmbedder):
        """The root goes as the first page is about to be read: preparing asks for the embedder's identity first."""

        @property
        def identity(self) -> str:
            if shelf.root.exists() and visible_before:
                shelf.root.rename(away)
            return super().identity

    visible_before: list[str] = []
    async with running_pipeline(store, temporal_client, resolve=lambda _: Leaving(64)) as pipeline:
        pipeline.register(shelf)
        await pipeline.sync(shelf)
        visible_before += pipeline.visible()
        for number in range(20):
            shelf.write(f"{number:02}.md", f"Document {number}, edited")
        with pytest.raises(WorkflowFailureError):
            await pipeline.sync(shelf)
        assert len(pipeline.visible()) == 20
        assert {state for state, _ in pipeline.states().values()} == {"indexed"}
        away.rename(shelf.root)
        visible_before.clear()
        assert (await pipeline.sync(shelf)).upserted == 20


async def test_a_worker_serves_only_its_tenants(store: Store, temporal_client: Client, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    options = WorkerOptions(max_document_bytes=1 << 20, tenants=["t2"])
    async with running_pipeline(store, temporal_client, options=options) as pipeline:
        pipeline.register(shelf)
        with pytest.raises(WorkflowFailureError) as failed:
            await pipeline.sync(shelf)
        assert pipeline.visible() == {}
    assert isinstance(failed.value.cause, ApplicationError) and failed.value.cause.type == "AccessError"


async def test_an_unreadable_folder_deletes_nothing_and_is_said(pipeline: Pipeline, shelf: Shelf) -> None:
    """Nesting beyond what is listed stands for any part that a listing cannot see."""
    shelf.write("gone.md", "Gone soon")
    shelf.write("kept.md", "Kept")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    (shelf.root / "gone.md").unlink()
    deep = shelf.root.joinpath(*["d"] * 140)
    deep.mkdir(parents=True)
    result = await pipeline.sync(shelf)
    assert (result.deleted, result.failed) == (0, 1)
    assert result.failures[0].state == "failed"
    assert set(pipeline.visible()) == {shelf.id_of("gone.md"), shelf.id_of("kept.md")}
    deep.rmdir()
    for folder in list(deep.parents)[:12]:
        folder.rmdir()
    assert (await pipeline.sync(shelf)).deleted == 1


async def test_a_document_over_the_limit_is_read_when_the_limit_is_raised(
    store: Store, temporal_client: Client, shelf: Shelf
) -> None:
    shelf.write("big.txt", "word " * 100)
    for limit, expected in ((100, (0, 1)), (100, (0, 1)), (1000, (1, 0))):
        options = WorkerOptions(max_document_bytes=limit)
        async with running_pipeline(store, temporal_client, options=options) as pipeline:
            pipeline.register(shelf)
            result = await pipeline.sync(shelf)
        assert (result.upserted, result.failed) == expected
