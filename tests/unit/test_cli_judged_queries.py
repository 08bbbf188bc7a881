"""What an evaluation makes of an answer, and of one that failed."""

import pytest

from tests.unit.passages import make_result
from tests.unit.ranked_hits import ranked_hits
from workers.cli.errors import CommandFailed
from workers.cli.judged_queries import Found


def test_an_empty_answer_counts_and_a_failed_one_ends_the_measurement() -> None:
    found = Found()
    found.add("q1", make_result(*ranked_hits("one")), str, None)
    found.add("q2", make_result(), str, None)
    with pytest.raises(CommandFailed, match=r"Query q3 failed, so that nothing is measured: Ask again\."):
        found.add("q3", make_result().model_copy(update={"check_error": "Ask again."}), str, None)
    assert (found.empty, list(found.rankings)) == (1, ["q1", "q2"])


def test_queries_that_a_reranker_was_given_nothing_of_are_counted() -> None:
    found = Found()
    found.add("q1", make_result(*ranked_hits("one")), str, None)
    found.add("q2", make_result(*ranked_hits("one")).model_copy(update={"rerank_error": "None."}), str, None)
    assert found.unranked == {"q2": "None."} and list(found.rankings) == ["q1", "q2"]
