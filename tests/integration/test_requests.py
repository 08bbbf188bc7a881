"""Requests: who may make a corpus, what stays the same request, and a pointer that is moved once."""

import dataclasses

import pytest
from temporalio.testing import ActivityEnvironment

from activities.contracts.generation import MovePointer
from activities.set_generation import PointerMover
from activities.store import Store
from activities.store.requests import Owner, claim_request
from headwater.contracts import RequestInput, SetSourceAccessInput
from headwater.errors import ValidationError
from headwater.models import Scope
from tests.integration.seen import seen, table
from tests.integration.staging_factory import Corpus, Document, publish
from workflows.once import payload_hash

NOWHERE = Scope(tenant_id="acme", resource_id="library", corpus_id="handbok")


def claim(store: Store, *, makes_corpus: bool) -> None:
    claim_request(
        store,
        NOWHERE,
        workflow="DeleteSources",
        request_id="r1",
        payload_sha256=b"payload",
        owner=Owner("workflow", "run"),
        makes_corpus=makes_corpus,
    )


def test_a_mistyped_corpus_is_not_made_by_asking_something_of_it(store: Store) -> None:
    with pytest.raises(ValidationError, match="Corpus acme/library/handbok does not exist"):
        claim(store, makes_corpus=False)
    assert table(store, "scope") == []
    claim(store, makes_corpus=True)
    assert [row["corpus_id"] for row in table(store, "scope")] == ["handbok"]


def test_a_request_stays_the_same_when_its_input_learns_another_field() -> None:
    class Later(SetSourceAccessInput):
        colour: str | None = None

    raw = {
        "scope": NOWHERE.model_dump(),
        "request_id": "r1",
        "grants": [{"source_id": "a", "access_version": 1, "principal_ids": ["alice"]}],
    }
    before: RequestInput = SetSourceAccessInput.model_validate(raw)
    assert payload_hash(before) == payload_hash(Later.model_validate({**raw, "requested_by": "somebody else"}))
    assert payload_hash(before) != payload_hash(Later.model_validate({**raw, "colour": "red"}))
    # Kept for 30 days in every database: another hash would refuse what was sent before an upgrade.
    assert payload_hash(before) == "605f27daf904b08ee8e0edb16926573087dcf273b54158b845a7e329595a9fe9"


def test_an_attempt_whose_answer_was_lost_moves_the_pointer_once(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one"]))
    publish(store, corpus, Document("a", ["two"]))
    roll_back, move = MovePointer(scope=corpus.scope, generation=1), PointerMover(store).set_generation
    run_of("r1").run(move, roll_back)
    publish(store, corpus, Document("a", ["three"]))
    run_of("r1").run(move, roll_back)
    assert seen(store, corpus) == {"a": ["three"]}
    run_of("r2").run(move, roll_back)
    assert seen(store, corpus) == {"a": ["one"]}


def test_an_attempt_whose_answer_was_lost_unpins_once(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one"]))
    pin, unpin = (MovePointer(scope=corpus.scope, pin=pin) for pin in (True, False))
    move = PointerMover(store).set_generation
    run_of("r1").run(move, pin)
    run_of("r2").run(move, unpin)
    run_of("r3").run(move, pin)
    publish(store, corpus, Document("a", ["two"]))
    assert run_of("r2").run(move, unpin).pinned
    assert seen(store, corpus) == {"a": ["one"]}


def run_of(run_id: str) -> ActivityEnvironment:
    """An attempt of that run of the workflow."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, workflow_run_id=run_id)
    return environment
