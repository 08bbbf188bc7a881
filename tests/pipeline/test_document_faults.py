"""A document at which its origin fails, and at no other, is tried a few times. It holds up nobody, and is nobody's outage."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from activities.contracts import Pass
from activities.prepare_page import IN_FLIGHT
from activities.read_document import FAULTS
from activities.store import Store
from headwater.connectors import Change, Connector, DocumentFault, FetchedDocument, Memory
from headwater.errors import EmbedderMismatch, HeadwaterError, StoreError, TransientError
from tests.drive.faults import Fault
from tests.drive.world import World
from tests.pipeline.by_hand import ByHand, refusal
from tests.pipeline.cabinet import Cabinet
from tests.pipeline.drive_shelf import DriveShelf, drive_shelf
from tests.pipeline.editions import CHUNKING
from tests.pipeline.harness import states, visible

ADA = "ada@a.test"
BAD = "cabinet:0"
TOLD = "The cabinet failed to give 0 (500)."


class Jammed:
    """Connectors of a cabinet that do not give one paper, with the next of ``errors`` as the reason."""

    def __init__(self, cabinet: Cabinet, errors: list[HeadwaterError]) -> None:
        self._cabinet = cabinet
        self.errors = errors

    def connect(
        self, kind: str, config: Mapping[str, Any], *, name: str, memory: Memory | None = None
    ) -> Connector:  # fmt: skip
        drawer = self._cabinet.connect(kind, config, name=name, memory=memory)
        drawer.fetch = self._fetcher(drawer.fetch)  # type: ignore[method-assign]  # of this one drawer
        return drawer

    def _fetcher(self, fetch: Callable[..., FetchedDocument]) -> Callable[..., FetchedDocument]:
        def jam(change: Change, *, max_bytes: int) -> FetchedDocument:
            fetched = fetch(change, max_bytes=max_bytes)
            if change.source_id == BAD and self.errors:
                raise self.errors.pop(0)
            return fetched

        return jam


@pytest.fixture
def cabinet(store: Store) -> Cabinet:
    """More papers than are in flight together; the first one is the bad one."""
    cabinet = Cabinet()
    for number in range(IN_FLIGHT + 2):
        cabinet.put(f"cabinet:{number}", f"Paper {number}", f"{number}.txt")
    cabinet.register(store, chunking=CHUNKING)
    return cabinet


def counted(store: Store) -> tuple[int, int]:
    """Starts that the bad paper may have ended the worker with, and faults of its origin."""
    with store.connection() as connection:
        row = connection.execute(
            "SELECT attempts, faults FROM headwater.page_item WHERE source_id = %s ORDER BY page_id DESC", [BAD]
        ).fetchone()
    assert row is not None
    return row[0], row[1]


def begun(hand: ByHand) -> tuple[Pass, int]:
    run = hand.begin().in_pass
    return run, hand.list_page(run).page_id


def give_up(hand: ByHand) -> None:
    """A whole pass, in which the bad paper uses up its tries."""
    run, page_id = begun(hand)
    for _ in range(1, FAULTS):
        refusal(lambda: hand.prepare(run, page_id))
    hand.prepare(run, page_id)
    hand.embed(run, page_id)
    hand.publish(run, page_id)
    hand.advance(run, page_id)
    assert hand.end(run).failed == 1


def test_a_document_at_which_its_origin_fails_is_given_up_and_all_others_are_read_at_once(
    store: Store, cabinet: Cabinet
) -> None:
    jammed = Jammed(cabinet, [DocumentFault(TOLD) for _ in range(FAULTS)])
    hand = ByHand(store, connectors=jammed.connect)
    run, page_id = begun(hand)
    for tries in range(1, FAULTS):
        assert refusal(lambda: hand.prepare(run, page_id)) == ("DocumentFault", TOLD)
        assert counted(store) == (0, tries)
        assert sorted({*cabinet.fetched} - {BAD}) == sorted({*cabinet.papers} - {BAD})
    hand.prepare(run, page_id)
    hand.embed(run, page_id)
    published = hand.publish(run, page_id)
    assert (published.upserted, published.failed) == (IN_FLIGHT + 1, 1)
    assert [cabinet.fetched.count(source_id) for source_id in (BAD, "cabinet:1")] == [FAULTS, 1]
    assert states(store)[BAD] == (
        "failed",
        "The cabinet failed to give 0 (500), 5 times in a row; it is tried again when it is listed again.",
    )


@pytest.mark.parametrize(
    "error",
    [StoreError("The store lacks a column."), EmbedderMismatch("The corpus has another embedder.")],
    ids=["store", "embedder"],
)
def test_what_is_wrong_with_the_world_is_held_against_no_document(
    store: Store, cabinet: Cabinet, error: HeadwaterError
) -> None:
    hand = ByHand(store, connectors=Jammed(cabinet, [error]).connect)
    run, page_id = begun(hand)
    assert refusal(lambda: hand.prepare(run, page_id)) == (type(error).__name__, str(error))
    assert counted(store) == (0, 0)
    hand.prepare(run, page_id)
    hand.embed(run, page_id)
    published = hand.publish(run, page_id)
    assert (published.upserted, published.failed) == (IN_FLIGHT + 2, 0)


def test_it_is_tried_once_more_whenever_it_is_listed_again(store: Store, cabinet: Cabinet) -> None:
    jammed = Jammed(cabinet, [DocumentFault(TOLD) for _ in range(FAULTS + 1)])
    hand = ByHand(store, connectors=jammed.connect)
    give_up(hand)
    cabinet.fetched.clear()
    assert [(page.upserted, page.failed) for page in hand.sync(run="run-2")] == [(0, 1)]
    assert cabinet.fetched == [BAD]
    assert [page.upserted for page in hand.sync(run="run-3")] == [1]
    assert cabinet.fetched == [BAD, BAD]
    assert visible(store)[BAD] == "Paper 0"


def test_it_has_all_its_tries_again_when_it_changes(store: Store, cabinet: Cabinet) -> None:
    jammed = Jammed(cabinet, [DocumentFault(TOLD) for _ in range(FAULTS + 1)])
    hand = ByHand(store, connectors=jammed.connect)
    give_up(hand)
    cabinet.change(BAD, touched=1)
    run = hand.begin(run="run-2").in_pass
    page_id = hand.list_page(run).page_id
    assert refusal(lambda: hand.prepare(run, page_id)) == ("DocumentFault", TOLD)
    assert counted(store) == (0, 1)


def test_a_document_that_comes_through_in_time_has_not_failed(store: Store, cabinet: Cabinet) -> None:
    jammed = Jammed(cabinet, [DocumentFault(TOLD) for _ in range(FAULTS - 1)])
    hand = ByHand(store, connectors=jammed.connect)
    run, page_id = begun(hand)
    for _ in range(1, FAULTS):
        refusal(lambda: hand.prepare(run, page_id))
    hand.prepare(run, page_id)
    hand.embed(run, page_id)
    assert hand.publish(run, page_id).failed == 0
    assert states(store)[BAD] == ("indexed", None)


def test_an_outage_is_not_held_against_a_document_at_which_its_origin_failed(store: Store, cabinet: Cabinet) -> None:
    jammed = Jammed(cabinet, [DocumentFault(TOLD), *[TransientError("It is away.") for _ in range(FAULTS)]])
    hand = ByHand(store, connectors=jammed.connect)
    run, page_id = begun(hand)
    assert refusal(lambda: hand.prepare(run, page_id))[0] == "DocumentFault"
    for _ in range(FAULTS):
        assert refusal(lambda: hand.prepare(run, page_id)) == ("TransientError", "It is away.")
    assert counted(store) == (0, 1)


@pytest.fixture
def shelf(store: Store, database: str, tmp_path: Path) -> Iterator[DriveShelf]:
    world = World()
    world.add_user(ADA)
    folder = world.add_folder("Office", owner=ADA).id
    for name in ("good", "bad"):
        world.add_file(f"{name}.txt", f"Text of the {name}.", parent=folder, owner=ADA, file_id=name)
    with drive_shelf(store, database, tmp_path, world, email=ADA, folder_ids=[folder]) as shelf:
        yield shelf


def test_a_file_at_which_drive_fails_again_and_again_costs_itself_alone(store: Store, shelf: DriveShelf) -> None:
    shelf.drive.faults.add(Fault("drive.files.get:media", file_id="bad", status=500, times=None))
    hand = ByHand(store)
    run = hand.begin(connector="drive").in_pass
    listed = hand.list_page(run)
    assert listed.items == 2
    for _ in range(1, FAULTS):
        assert refusal(lambda: hand.prepare(run, listed.page_id)) == (
            "DocumentFault", "Drive failed to download file bad (500 backendError).",
        )  # fmt: skip
    hand.prepare(run, listed.page_id)
    hand.embed(run, listed.page_id)
    published = hand.publish(run, listed.page_id)
    assert (published.upserted, published.failed) == (1, 1)
    assert states(store)["drive:bad"] == (
        "failed",
        "Drive failed to download file bad (500 backendError), 5 times in a row; it is tried again when it is listed again.",
    )
    assert visible(store) == {"drive:good": "Text of the good."}
