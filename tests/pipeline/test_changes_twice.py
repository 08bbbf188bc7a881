"""A feed that names a document twice in one pass: what it says last counts, whether on one page or on two."""

from collections.abc import Callable, Sequence

import pytest

from activities.contracts import Pass
from activities.store import Store
from tests.pipeline.by_hand import ByHand
from tests.pipeline.cabinet import Cabinet
from tests.pipeline.editions import CHUNKING

ID = "cabinet:1"
PLAN, FINAL = "Plan.txt", "Final plan.txt"


class Desk:
    """A cabinet with one paper that was synced."""

    def __init__(self, store: Store) -> None:
        self.store, self.cabinet = store, Cabinet()
        self.cabinet.put(ID, "The plan.", PLAN)
        self.cabinet.register(store, chunking=CHUNKING)
        self.worker = ByHand(store, connectors=self.cabinet.connect)
        self.worker.sync()

    def renamed(self, name: str) -> Callable[[], Sequence[str]]:
        def rename() -> Sequence[str]:
            self.cabinet.put(ID, "The plan.", name)
            return [ID]

        return rename

    def removed(self) -> Sequence[str]:
        self.cabinet.papers.pop(ID, None)
        return [ID]

    def stage(self, in_pass: Pass, page_id: int) -> None:
        for batch_no in range(self.worker.prepare(in_pass, page_id).batches):
            self.worker.embed(in_pass, page_id, batch_no)

    def names(self) -> list[str]:
        """What the documents that readers see are called."""
        with self.store.connection() as connection:
            rows = connection.execute("""
              SELECT d.title FROM headwater.scope p
                JOIN headwater.span x ON x.build_id = p.live_build AND x.gen_from <= p.live_gen AND x.gen_to > p.live_gen
                JOIN headwater.source s ON s.source_pk = x.source_pk AND x.gen_from > s.fence_gen
                JOIN headwater.document_version d ON d.version_id = x.version_id""").fetchall()
        return [name for (name,) in rows]


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


def changes(desk: Desk, case: str) -> tuple[list[Callable[[], Sequence[str]]], list[str]]:
    """What happens before each page of the feed, and what is right in the end."""
    return {
        "renamed and back": ([desk.renamed(FINAL), desk.renamed(PLAN)], [PLAN]),
        "removed and back": ([desk.removed, desk.renamed(PLAN)], [PLAN]),
        "renamed twice": ([desk.renamed("Draft.txt"), desk.renamed(FINAL)], [FINAL]),
        "renamed and removed": ([desk.renamed(FINAL), desk.removed], []),
    }[case]


CASES = ["renamed and back", "removed and back", "renamed twice", "renamed and removed"]


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_last_on_a_page_counts(desk: Desk, case: str) -> None:
    desk.cabinet.feed, expected = changes(desk, case)
    desk.worker.sync()
    assert desk.names() == expected


@pytest.mark.parametrize("case", CASES)
def test_what_a_later_page_says_counts_although_the_one_before_is_still_under_way(desk: Desk, case: str) -> None:
    desk.cabinet.feed, expected = changes(desk, case)
    worker = desk.worker
    begun = worker.begin().in_pass
    first = worker.list_page(begun, 1, page_size=1)
    assert not first.is_last
    desk.stage(begun, first.page_id)

    def publish_first(*details: object) -> None:
        worker.publish(begun, first.page_id)

    second = worker.list_page(begun, 2, page_size=1, meanwhile=publish_first)
    desk.stage(begun, second.page_id)
    worker.publish(begun, first.page_id)  # if it was not waited for: what is published is not published again
    worker.publish(begun, second.page_id)
    assert desk.names() == expected


def test_a_new_document_that_goes_on_the_same_page_is_never_read(desk: Desk) -> None:
    other = "cabinet:2"

    def came() -> Sequence[str]:
        desk.cabinet.put(other, "Another plan.", "Other.txt")
        return [other]

    def went() -> Sequence[str]:
        desk.cabinet.papers.pop(other)
        return [other]

    desk.cabinet.fetched.clear()
    desk.cabinet.feed = [came, went]
    desk.worker.sync()
    assert desk.cabinet.fetched == []
