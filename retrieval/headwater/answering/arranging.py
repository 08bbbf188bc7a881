"""Laying passages out for a prompt, with a look behind code of a host's that does it: what is left is then laid out anew."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.answering.assembly import Passage
from headwater.answering.gate import Gate, Supply
from headwater.answering.hooks import Hooks
from headwater.answering.redaction import redacted_text
from headwater.prompts import Arranged, arrange, reach
from headwater.prompts.expansion import Surroundings
from headwater.prompts.keys import Key, key_of
from headwater.prompts.surroundings import read_surroundings, surroundings_statement
from headwater.store.effects import Effect, called, fetched


def laid_out(
    passages: list[Passage], supply: Supply, gate: Gate, hooks: Hooks
) -> Generator[Effect, Any, tuple[list[Passage], Sequence[int]]]:
    """The best passages as a prompt should have them: which matter most, what is shown of each, and where it stands.

    If one of them is taken away while code of a host's arranges them, the next one moves up, and they are arranged anew: what stands
    beside a passage decides what is shown of it, and where. One that nobody was going to show is only left out of those that wait.
    """
    question = gate.question
    while True:
        passages = yield from supply.filled(passages, question.top_k)
        best = passages[: question.top_k]
        if gate.has_failed or not best:
            return [], ()
        if not hooks.post_processors:
            return best, range(len(best))
        arranged, layout = yield from _arranged(best, gate, hooks)
        if not hooks.arranges_with_hosts_code:
            return arranged, layout
        passages = yield from gate.passed(passages)
        left = {key_of(one.hit): one for one in passages}
        if all(key_of(one.hit) in left for one in best):
            return [_with_label_of(left[key_of(one.hit)], one) for one in arranged], layout


def _arranged(
    best: Sequence[Passage], gate: Gate, hooks: Hooks
) -> Generator[Effect, Any, tuple[list[Passage], Sequence[int]]]:
    steps, redactor = hooks.post_processors, hooks.redactor
    around: Mapping[Key, Surroundings] = {}
    if (wanted := reach(steps)) is not None:
        candidates = [one.candidate for one in best]
        (rows,) = yield from fetched(surroundings_statement(gate.schema, gate.question, candidates, wanted))
        around = read_surroundings(rows, candidates)
    redact = None if redactor is None else lambda text: redacted_text(text, redactor)
    hits = [one.hit for one in best]
    query, forms = gate.question.query, gate.question.queries
    arranged: Arranged = yield from called(lambda: arrange(steps, query, hits, around, forms=forms, redact=redact))
    own = {key_of(one.hit): one for one in best}
    return [replace(own[key_of(hit)], hit=hit) for hit in arranged.hits], arranged.layout


def _with_label_of(labelled: Passage, arranged: Passage) -> Passage:
    label = labelled.hit.sensitivity
    return Passage(labelled.candidate, arranged.hit.model_copy(update={"sensitivity": label}))
