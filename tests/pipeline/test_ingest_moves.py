"""Pushes that were accepted before their id was given to another source, or while it was: they replace nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from activities.parsers.pool import ParserPool
from activities.store import Store
from activities.store.requests import Owner, claim_request
from activities.store.sources.repoint import Move, move_page
from headwater.models import Authorization
from tests.integration.asked import delete_sources
from tests.integration.waiting import is_blocked, until
from tests.pipeline.harness import SCOPE, visible
from tests.pipeline.pushing import Pusher

MOVER = Authorization(principal_id="mover", tenant_id=SCOPE.tenant_id)
BROKEN = b"PK\x03\x04" + bytes(99)


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserPool]:
    with ParserPool(1) as pool:
        yield pool


@pytest.fixture
def host(store: Store, parser: ParserPool) -> Pusher:
    return Pusher(store, parser)


def move(store: Store, from_id: str, to_id: str) -> None:
    owner = Owner("workflow", "run")
    request = claim_request(
        store, SCOPE, workflow="RepointSource", request_id=f"{from_id} {to_id}", payload_sha256=b"", owner=owner
    )
    move_page(
        store,
        SCOPE,
        Move(from_id, to_id, MOVER, page_size=9),
        request_no=request.request_no,
        step="page",
        actor="tests",
        service_principals=((MOVER.tenant_id, MOVER.principal_id),),
    )


@pytest.mark.parametrize("is_staged", [False, True], ids=["not read yet", "read"])
@pytest.mark.parametrize("content", ["new", "moved", "broken"])
def test_a_push_to_a_deleted_id_that_something_was_moved_to_changes_nothing(
    host: Pusher, store: Store, content: str, is_staged: bool
) -> None:
    host.push({"source_id": "a", "text": "The moved text."}, {"source_id": "b", "text": "The deleted text."})
    pushed = {"new": {"text": "The late text."}, "moved": {"text": "The moved text."}}.get(
        content, {"staged": host.hand_in(BROKEN)}
    )
    page = host.accept({"source_id": "b", **pushed, "grants": {"everyone": True, "access_version": 9}})
    if is_staged:
        host.stage(page)
    delete_sources(store, host.rows("SELECT scope_id FROM headwater.scope")[0][0], ["b"])
    move(store, "a", "b")
    if not is_staged:
        host.stage(page)
    before = _held(host)
    (outcome,) = host.end(page, host.publish(page).generation).sources
    assert (outcome.state, outcome.indexed, outcome.skipped) == ("failed", 0, False)
    assert outcome.reason is not None and outcome.reason.startswith("The source was given another id")
    assert visible(store) == {"b": "The moved text."} and _held(host) == before
    assert host.push_one("b", "The late text.").state == "indexed"


def test_a_push_that_waits_for_a_row_whose_id_is_exchanged_is_told_so(
    host: Pusher, store: Store, database: str
) -> None:
    host.push({"source_id": "a", "text": "The moved text."}, {"source_id": "c", "text": "Another."})
    with closing(psycopg.connect(database)) as moving, ThreadPoolExecutor(1) as pool:
        moving.execute("UPDATE headwater.source SET source_id = 'b' WHERE source_id = 'a'")
        moving.execute("INSERT INTO headwater.source (scope_id, source_id) SELECT scope_id, 'a' FROM headwater.scope")
        accepting = pool.submit(
            host.accept, {"source_id": "a", "text": "The late."}, {"source_id": "c", "text": "New."}
        )
        until(lambda: is_blocked(database))
        moving.commit()
        page = accepting.result()
    moved, other = host.finish(page).sources
    assert (moved.source_id, other.source_id, other.indexed) == ("a", "c", 1)
    assert moved.reason is not None and moved.reason.startswith("The source was given another id")
    assert visible(store) == {"b": "The moved text.", "c": "New."}


def _held(host: Pusher) -> list[tuple[object, ...]]:
    return host.rows("""
        SELECT source_id, access_version, grants, revision, state, freshness
          FROM headwater.source LEFT JOIN headwater.ingestion USING (source_pk) ORDER BY source_id""")
