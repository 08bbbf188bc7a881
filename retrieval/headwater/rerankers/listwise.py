"""`listwise`: a chat model puts all passages in order at once. It is asked once, and what it cannot tell stays as it was."""

from collections.abc import Sequence
from typing import Final, Literal

from headwater.answering.host_code import check_not_async, given_at_once
from headwater.errors import ValidationError
from headwater.limits import Limit
from headwater.models import Hit
from headwater.rerankers import Judge
from headwater.rerankers.judge import named_places, ranking_prompt, read_order
from headwater.rerankers.profiles import KeptOrder, readable_places

TOP_N: Final = Limit("top_n", default=10, cap=50)
FAILED: Final = "The judge failed: the passages keep the order in which they were found."
UNREADABLE: Final = "The judge gave no order: the passages keep the one in which they were found."


class ListwiseReranker:
    """Asks ``judge`` for the order of the best ``top_n`` passages; the others keep theirs.

    It never raises: when a judge fails, or answers something else, every passage keeps its place, and the answer is a
    `KeptOrder` that says why without quoting anybody. Restricted passages are never shown to the judge and keep their
    places; if there is nothing else, it is not asked. It counts as one outside the process unless ``is_hosted`` is False.
    """

    reads_restricted: Literal[False] = False

    def __init__(self, judge: Judge, *, top_n: int = TOP_N.default, is_hosted: bool = True) -> None:
        if not callable(judge):
            raise ValidationError(
                "judge must be a function that is given a prompt, and gives what a chat model answers."
            )
        check_not_async(judge, "judge")
        self.is_hosted = is_hosted is not False
        self._judge = judge
        self._top_n = TOP_N.check(top_n)

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        places = readable_places(hits[: self._top_n])
        if not places:
            return list(hits)
        prompt = ranking_prompt(query, [hits[place].text for place in places])
        try:
            answer: object = self._judge(prompt)
        except Exception:  # noqa: BLE001 - a chat model's client raises anything, and what it says may repeat a passage
            return KeptOrder.of(hits, FAILED)
        try:
            given_at_once(answer, name="judge")
        except ValidationError as error:  # a plain function around an async client
            return KeptOrder.of(hits, str(error))
        if not isinstance(answer, str) or not named_places(answer, len(places)):
            return KeptOrder.of(hits, UNREADABLE)
        ordered = list(hits)
        for place, chosen in zip(places, read_order(answer, len(places)), strict=True):
            ordered[place] = hits[places[chosen]]
        return ordered


__all__ = ["ListwiseReranker"]
