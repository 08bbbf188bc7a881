"""What several libraries gave is looked at again when all have answered, and behind code of a host's: one statement, and only then."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headwater import AccessDenied, Authorization, Hit, Scope
from headwater.answering.recheck import Audit
from headwater.libraries import Libraries, LibrariesResult
from headwater.prompts import Diversity, LostInTheMiddle
from tests.unit.found_libraries import Shelves, Standing
from tests.unit.passages import make_hit

ALICE = Authorization(principal_id="alice", tenant_id="t1")
CONFIDENTIAL = 2


def scope(corpus: str) -> Scope:
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=corpus)


def hits(corpus: str, *names: str) -> list[Hit]:
    return [make_hit(f"text of {name}", chunk_id=f"{name}#0001", corpus=corpus) for name in names]


@pytest.fixture
def shelves() -> Shelves:
    return Shelves({"a": hits("a", "a1", "a2", "a3"), "b": hits("b", "b1", "b2", "b3"), "none": []})


def ask(shelves: Shelves, *corpora: str, **arguments: Any) -> LibrariesResult:
    libraries = Libraries(Standing(shelves), {f"lib-{corpus}": scope(corpus) for corpus in corpora})
    return libraries.retrieve("q", authorization=ALICE, **arguments)


def shown(result: LibrariesResult) -> list[str]:
    return [hit.source_id for hit in result.hits]


class Step:
    """A host's own, which notes what it was shown, and in whose time something happens once."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.seen: list[list[str]] = []
        self._meanwhile = meanwhile

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.seen.append([hit.source_id for hit in hits])
        if len(self.seen) == 1:
            self._meanwhile()
        return [hit.model_copy(update={"prompt_text": f"{hit.source_id} of {len(hits)}"}) for hit in hits]


@pytest.mark.parametrize(
    ("corpora", "steps", "looks"),
    [
        (["a"], (), 0),
        (["a"], (Diversity(), LostInTheMiddle()), 0),
        (["a"], (Step(),), 1),
        (["a", "b"], (), 1),
        (["a", "b"], (Diversity(), LostInTheMiddle()), 1),
        (["a", "b"], (Step(), LostInTheMiddle()), 2),
        (["a", "none"], (), 1),
        (["none", "none"], (), 0),
    ],
    ids=["one", "one, ours", "one, a host's", "two", "two, ours", "two, a host's", "one gave nothing", "nothing"],
)
def test_there_is_a_look_for_each_time_that_passed_and_only_then(
    shelves: Shelves, corpora: list[str], steps: Any, looks: int
) -> None:
    libraries = [(f"lib-{number}", scope(corpus)) for number, corpus in enumerate(corpora)]
    Libraries(Standing(shelves), libraries).retrieve("q", authorization=ALICE, post_processors=steps)

    assert len(shelves.looks) == looks


def test_a_look_names_each_source_once_and_all_corpora(shelves: Shelves) -> None:
    shelves.hits = {
        "a": [*hits("a", "a1"), make_hit("more", chunk_id="a1#0002", corpus="a")],
        "b": hits("b", "b1"),
    }
    two_and_one_again = [("one", scope("a")), ("two", scope("b")), ("again", scope("a"))]
    result = Libraries(Standing(shelves), two_and_one_again).retrieve("q", authorization=ALICE)

    assert shelves.looks == [["a1", "b1"]] and len(result.hits) == 5


def test_what_was_taken_away_is_not_shown_told_once_and_made_up_for(shelves: Shelves) -> None:
    events: list[AccessDenied] = []
    shelves.revoked, shelves.deleted = {"a1"}, {"b2"}

    result = ask(shelves, "a", "b", top_k=3, on_access_denied=events.append)

    assert shown(result) == ["b1", "a2", "a3"] and [one.source_id for one in result.citations] == shown(result)
    assert "a1" not in result.text and result.check_error is None
    assert events == [AccessDenied(source_id="a1", scope=scope("a"), reason="no_grant", hits=1)]


def test_a_source_of_a_corpus_in_two_libraries_is_told_once(shelves: Shelves) -> None:
    events: list[AccessDenied] = []
    shelves.revoked = {"a1"}
    two = [("one", scope("a")), ("two", scope("a"))]

    result = Libraries(Standing(shelves), two).retrieve("q", authorization=ALICE, on_access_denied=events.append)

    assert shown(result) == ["a2", "a2", "a3", "a3"]
    assert [(event.source_id, event.hits) for event in events] == [("a1", 1)]


def test_what_goes_while_a_hosts_step_runs_is_not_shown_and_the_rest_is_arranged_anew(shelves: Shelves) -> None:
    events: list[AccessDenied] = []
    step = Step(lambda: shelves.revoked.add("b1"))

    result = ask(shelves, "a", "b", top_k=3, post_processors=(step,), on_access_denied=events.append)

    assert step.seen == [["a1", "b1", "a2"], ["a1", "a2", "b2"]]
    assert shown(result) == ["a1", "a2", "b2"] and "b1" not in result.model_dump_json()
    assert [hit.prompt_text for hit in result.hits] == ["a1 of 3", "a2 of 3", "b2 of 3"]
    assert [(event.source_id, event.reason) for event in events] == [("b1", "no_grant")]
    assert len(shelves.looks) == 3


def test_a_hosts_step_is_not_shown_what_went_before_it(shelves: Shelves) -> None:
    step = Step()
    shelves.revoked = {"a1"}
    ask(shelves, "a", "b", top_k=2, post_processors=(step,))

    assert step.seen == [["b1", "a2"]]


@pytest.mark.parametrize("fails_in_step", [False, True])
def test_a_look_that_fails_shows_nothing_and_says_so(shelves: Shelves, fails_in_step: bool) -> None:
    events: list[AccessDenied] = []
    step = Step(lambda: setattr(shelves, "is_broken", True))
    shelves.is_broken = not fails_in_step

    result = ask(shelves, "a", "b", post_processors=(step,), on_access_denied=events.append)

    assert (result.hits, result.text, result.citations) == ((), "", ())
    assert (result.check_error or "").startswith("Postgres did not say what may still be shown (RaiseException")
    assert "secret" not in str(result) and len(shelves.looks) == 1 + fails_in_step
    assert {(event.source_id, event.reason) for event in events} == {
        (source, "check_failed") for source in ("a1", "a2", "a3", "b1", "b2", "b3")
    }


def test_a_library_whose_own_look_failed_hides_nothing_of_the_others(shelves: Shelves) -> None:
    shelves.hits, shelves.said = {**shelves.hits, "a": []}, {"a": {"check_error": "Ask again."}}

    result = ask(shelves, "a", "b")

    assert shown(result) == ["b1", "b2", "b3"] and result.check_error == "Ask again."


def test_what_a_library_cut_off_counts_in_the_whole(shelves: Shelves) -> None:
    assert not ask(shelves, "a", "b").truncated
    shelves.said = {"a": {"truncated": True}}
    assert ask(shelves, "a", "b").truncated


def test_a_trace_counts_what_was_withheld_in_the_corpora_of_its_own_question() -> None:
    whole = Audit(lambda _: None)
    first, second = whole.of_part(), whole.of_part()
    first.kept_back(scope("a"), [("a1",), ("a2",)])
    second.kept_back(scope("b"), [("b1",)])

    assert (first.n_denied([scope("a")]), second.n_denied([scope("b")])) == (2, 1)


@pytest.mark.parametrize("steps", [(), (Step(),)], ids=["none", "a host's"])
def test_a_label_that_was_raised_meanwhile_is_that_of_the_answer(shelves: Shelves, steps: Any) -> None:
    shelves.labels = {"b1": CONFIDENTIAL}

    result = ask(shelves, "a", "b", top_k=2, post_processors=steps)

    assert [(hit.source_id, hit.sensitivity) for hit in result.hits if hit.source_id == "b1"] == [
        ("b1", "confidential")
    ]
