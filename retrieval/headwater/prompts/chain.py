"""Running post-processors one after the other, and holding each to what it may change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from headwater.answering.host_code import answered, check_not_async, given_at_once, lent, printable
from headwater.errors import LimitError, ValidationError
from headwater.ids import UNSTORABLE
from headwater.models import Hit
from headwater.prompts.compression import Compression
from headwater.prompts.diversity import Diversity
from headwater.prompts.expansion import Expansion, Parent, Reach, Surroundings, Window
from headwater.prompts.keys import Key, key_of
from headwater.prompts.middle import LostInTheMiddle

if TYPE_CHECKING:
    from headwater.prompts import PostProcessor

STEPS_MAX: Final = 8
NAMED: Final[Mapping[str, Callable[[], "PostProcessor"]]] = {
    "mmr": Diversity,
    "lost_in_middle": LostInTheMiddle,
    "compress": Compression,
    "window": Window,
    "parent": Parent,
}


@dataclass(frozen=True, slots=True)
class Arranged:
    """Passages as a prompt should have them. ``hits`` come in order of importance: where not all fit, the last go.

    ``layout`` is the order in which they stand in the prompt, as places in ``hits``.
    """

    hits: tuple[Hit, ...]
    layout: tuple[int, ...]


def check_post_processors(steps: "str | Sequence[PostProcessor]") -> "tuple[PostProcessor, ...]":
    """The steps that are named in a list with commas (``mmr,lost_in_middle``; ``none``), or given as objects."""
    if isinstance(steps, str):
        names = [name.strip().casefold() for name in steps.split(",")]
        steps = [_named(name) for name in names if name not in ("", "none")]
    if not isinstance(steps, Sequence):
        raise ValidationError(
            "post_processors must be a list such as (Diversity(), LostInTheMiddle()), or their names."
        )
    if len(steps) > STEPS_MAX:
        raise LimitError(f"post_processors holds {len(steps)} steps: at most {STEPS_MAX} may be chained.")
    return tuple(_check(step) for step in steps)


def _check(step: "PostProcessor | str") -> "PostProcessor":
    if isinstance(step, str | type) or not callable(getattr(step, "process", None)):
        raise ValidationError(
            f"Post-processor {_name(step)} has no method process(query, hits): give an object like "
            "headwater.prompts.Diversity()."
        )
    check_not_async(step.process, f"Post-processor {_name(step)}")
    return step


def _named(name: str) -> "PostProcessor":
    if name not in NAMED:
        raise ValidationError(f"Post-processor {name[:80]!r} is not known: choose from {', '.join(NAMED)}.")
    return NAMED[name]()


def reach(steps: "Sequence[PostProcessor]") -> Reach | None:
    """How far around a passage these steps want to read; None if the passages themselves are enough."""
    wanted = [step.reach for step in steps if isinstance(step, Expansion)]
    return Reach(max(r.passages for r in wanted), max(r.characters for r in wanted)) if wanted else None


def arrange(
    steps: "Sequence[PostProcessor]",
    query: str,
    hits: Sequence[Hit],
    surroundings: Mapping[Key, Surroundings] | None = None,
    *,
    forms: Sequence[str] = (),
    redact: Callable[[str], str] | None = None,
) -> Arranged:
    """``hits``, which come best first, after all the steps.

    ``surroundings`` are what is stored around them, for those steps that want it; ``redact`` is applied to what is taken
    from there. ``forms`` are the query and what a rewriter made of it: a host's step gets the query alone.
    """
    laid_out = important = tuple(hits)
    is_laid_out = False
    for step in steps:
        ask = partial(_said, step, query, lent(laid_out), surroundings or {}, redact, forms or (query,))
        said = answered(ask, name=f"Post-processor {_name(step)}")
        laid_out = _held(step, laid_out, said)
        # A layout is the order for a reader's eye; every other order says which passages matter more.
        is_laid_out = is_laid_out or said.is_layout
        if not is_laid_out:
            important = laid_out
    final = {key_of(hit): hit for hit in laid_out}
    places = {key_of(hit): place for place, hit in enumerate(important)}
    return Arranged(
        hits=tuple(final[key_of(hit)] for hit in important), layout=tuple(places[key_of(hit)] for hit in laid_out)
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What a step gave back, each part read once: it may go on changing what it was lent."""

    texts: Sequence[tuple[Key, Any]]  # of each passage, in its order
    is_layout: bool


def _said(
    step: "PostProcessor",
    query: str,
    given: Sequence[Hit],
    surroundings: Mapping[Key, Surroundings],
    redact: Callable[[str], str] | None,
    forms: Sequence[str],
) -> _Said:
    if isinstance(step, Expansion):
        answer: Sequence[Hit] = step.expand(given, surroundings, redact=redact)
    elif type(step) is Compression:  # a host's own, derived from it, may look at the query otherwise
        answer = step.process_forms(forms, given)
    else:
        answer = given_at_once(step.process(query, given), name=f"Post-processor {_name(step)}")
    if not isinstance(answer, Sequence) or not all(isinstance(hit, Hit) for hit in answer):
        raise ValidationError(f"Post-processor {_name(step)} must give back the hits it got.")
    return _Said([(key_of(hit), hit.prompt_text) for hit in answer], getattr(step, "is_layout", False) is True)


def _held(step: object, given: Sequence[Hit], said: _Said) -> tuple[Hit, ...]:
    """Our own hits in the step's order, with its prompt texts: whatever else it changed is not taken over."""
    own = {key_of(hit): hit for hit in given}
    if len(said.texts) != len(own) or {key for key, _ in said.texts} != own.keys():
        raise ValidationError(
            f"Post-processor {_name(step)} must give back each of the {len(own)} hits once: it gave {len(said.texts)}, not all "
            "of them the same."
        )
    return tuple(_with(own[key], text, step) for key, text in said.texts)


def _with(hit: Hit, prompt_text: Any, step: object) -> Hit:
    if prompt_text is not None and (not isinstance(prompt_text, str) or UNSTORABLE.search(prompt_text)):
        raise ValidationError(
            f"Post-processor {_name(step)} must give texts without NUL or lone surrogates as prompt_text, or None."
        )
    # Nothing is ever shown as an empty block: what was emptied is shown as it was found.
    new = prompt_text if prompt_text is not None and prompt_text.strip() and prompt_text != hit.text else None
    return hit if new == hit.prompt_text else hit.model_copy(update={"prompt_text": new})


def _name(step: object) -> str:
    return printable(step.__name__ if isinstance(step, type) else type(step).__name__)
