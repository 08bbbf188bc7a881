"""`cross-encoder:PATH`: a model of one's own that reads the query and a passage together, and says how well they match."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.embedders.onnx_engine import encoded, engine_errors_as, fed, inputs_of, open_session, open_tokenizer
from headwater.embedders.onnx_files import find_cross_encoder
from headwater.errors import HeadwaterError, PermanentError, RerankError, TransientError
from headwater.limits import Limit
from headwater.models import Hit
from headwater.rerankers.in_threads import check_threads, in_threads
from headwater.rerankers.profiles import readable_places

# Of a pair. Some models read 8,192, which takes minutes: a passage of the pipeline has a few hundred.
PAIR_TOKENS: Final = Limit("max_tokens", default=512, cap=8_192)


class Scorer(Protocol):
    """A model that was loaded."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float] | NDArray[np.floating[Any]]:
        """How well each text answers. Only their order counts."""
        ...


class CrossEncoderReranker:
    """Orders passages by what the model in ``place`` says of each. Safe to share between threads.

    ``place`` is a folder with ``model.onnx`` (or the only ``.onnx`` there, or in its folder ``onnx``) and
    ``tokenizer.json`` or ``vocab.txt``; or the ``.onnx`` file itself. The model is loaded once, when there is first
    something to order, and never from the network. A load that failed is not tried again: make another reranker.
    Restricted passages are not read, and keep their places.
    """

    is_hosted: Literal[False] = False
    reads_restricted: Literal[False] = False

    def __init__(
        self,
        place: str | Path,
        *,
        max_tokens: int = PAIR_TOKENS.default,
        threads: int | None = None,
        load: Callable[[], Scorer] | None = None,
    ) -> None:
        """``load`` gives another engine's model instead. ``threads`` pairs are read at the same time."""
        path = Path(place).absolute()
        self._name = f"Reranker cross-encoder:{path}"
        max_tokens, threads = PAIR_TOKENS.check(max_tokens), check_threads(threads)
        self._load = load or (lambda: OnnxScorer.loaded(path, self._name, max_tokens=max_tokens, threads=threads))
        self._loading = Lock()
        self._scorer: Scorer | None = None
        self._failure: str | None = None

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        ordered, places = list(hits), readable_places(hits)
        if len(places) < 2:
            return ordered
        scores = _checked(self._model().score(query, [hits[place].text for place in places]), len(places), self._name)
        for place, chosen in zip(places, np.argsort(-scores, kind="stable"), strict=True):
            ordered[place] = hits[places[chosen]]
        return ordered

    def _model(self) -> Scorer:
        with self._loading:
            if self._scorer is None:
                self._scorer = self._loaded()
            return self._scorer

    def _loaded(self) -> Scorer:
        if self._failure is None:
            try:
                return self._load()
            except TransientError:  # a shortage of memory passes
                raise
            except Exception as error:  # noqa: BLE001 - an engine of a host's raises anything
                # What a foreign error says is left out: it may repeat anything.
                own = isinstance(error, HeadwaterError)
                self._failure = str(error) if own else f"{self._name} cannot be loaded ({type(error).__name__})."
        raise RerankError(self._failure)


class OnnxScorer:
    """A sequence classifier in ONNX form, run by onnxruntime (extra ``onnx``)."""

    def __init__(self, session: Any, tokenizer: Any, *, name: str, threads: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = inputs_of(session, name)
        self._output = _logits(session, name)
        self._name = name
        self._threads = threads

    @classmethod
    def loaded(cls, path: Path, name: str, *, max_tokens: int, threads: int) -> "OnnxScorer":
        files = find_cross_encoder(path, name)
        tokenizer = open_tokenizer(files, name)
        # Of the two texts the longer one is cut, token by token, until the pair fits.
        tokenizer.enable_truncation(min(max_tokens, files.max_tokens), strategy="longest_first")
        return cls(open_session(files.model, name), tokenizer, name=name, threads=threads)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        # Each pair alone, as in `OnnxEmbedder.embed`: a batch of long ones is slower on a CPU, and in a quantised model
        # a pair's score would depend on its neighbours.
        pairs = [encoded(self._tokenizer, query, text) for text in texts]
        return np.array(in_threads(self._score, pairs, self._threads), dtype=np.float64)

    def _score(self, pair: Any) -> float:
        with engine_errors_as(f"{self._name} failed on a pair of {len(pair.ids):,} tokens: it may read fewer."):
            [logits] = self._session.run([self._output], fed(pair, self._inputs))
        found = np.asarray(logits, dtype=np.float64)
        if found.shape in ((1,), (1, 1)):
            return float(found.reshape(-1)[0])
        if found.shape == (1, 2):
            return float(found[0, 1] - found[0, 0])  # the log-odds of the second label, which is "relevant"
        raise PermanentError(
            f"{self._name} gives {found.shape} for one pair, and one score or two labels were expected."
        )


def _logits(session: Any, name: str) -> str:
    """The output that says how well a pair matches."""
    shapes: dict[str, Sequence[Any]] = {node.name: node.shape for node in session.get_outputs()}
    fit = [each for each, shape in shapes.items() if _is_of_pairs(shape)]
    if "logits" in fit:
        return "logits"
    if len(fit) != 1:
        raise PermanentError(
            f"{name} has no output [pairs], [pairs, 1] or [pairs, 2], or several: export it as a sequence classifier "
            "with one label or two."
        )
    return fit[0]


def _is_of_pairs(shape: Sequence[Any]) -> bool:
    """Whether it may be one score, or two labels, for each pair. An axis without a fixed length is a name, or None."""
    return len(shape) == 1 or (len(shape) == 2 and (shape[1] in (1, 2) or not isinstance(shape[1], int)))


def _checked(scores: object, count: int, name: str) -> NDArray[np.float64]:
    """One finite score for each passage, or the error that says what came instead."""
    try:
        found = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (count,):
        raise RerankError(f"{name} gave {found.size} scores for {count} passages.")
    if not np.isfinite(found).all():
        raise RerankError(f"{name} gave a score that is not finite: check its model.")
    return found


__all__ = ["CrossEncoderReranker", "Scorer"]
