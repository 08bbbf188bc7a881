"""From `--rerank SPEC` and the settings to a reranker."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.errors import ValidationError
from headwater.rerankers import SPECS as ALL_SPECS
from headwater.rerankers import resolve_reranker
from headwater.rerankers.keys import check_key
from workers.cli.errors import WrongUsage
from workers.settings import Settings, variable_of

if TYPE_CHECKING:
    from headwater.embedders import Embedder
    from headwater.rerankers.bounded import Bounded, Bounds

# Those of the library but `listwise`, which asks a chat model through a function of a host's, and `fake`, a double for tests,
# which is taken and offered to nobody.
SPECS: Final = "none, local, cross-encoder:PATH, tei:URL, openai-compatible:URL#MODEL or voyage:URL#MODEL"
KINDS: Final = (*(each.partition(":")[0] for each in SPECS.replace(" or ", ", ").split(", ")), "fake")
LOCAL: Final = "local"  # the one that reads with the corpus's embedder
KEY_BYTES: Final = 8 * 1024

# Whoever sits before the command would rather wait than read that there was too much.
PATIENT: Final["Bounds"] = {"max_input_bytes": 256 * 1024, "timeout_s": 10.0}


def reranker_of(spec: str | None, settings: Settings) -> "Callable[[Embedder], Bounded | None]":
    """What makes the reranker out of a corpus's embedder. What is wrong with ``spec`` is said before there is one."""
    if spec is None:
        return lambda _: None
    if spec == LOCAL:
        return lambda embedder: make_reranker(spec, settings, embedder=embedder)
    made = make_reranker(spec, settings, embedder=None)
    return lambda _: made


def make_reranker(spec: str, settings: Settings, *, embedder: "Embedder | None") -> "Bounded | None":
    """The reranker that ``spec`` names; None for ``none``. ``embedder`` is the one of the corpus, for ``local``.

    Whoever types an address of this machine means it, so it is allowed here.
    """
    kind = spec.partition(":")[0]
    if kind not in KINDS:
        raise WrongUsage(f"--rerank {kind[:80]!r} is not known: use {SPECS}.")
    key = _key(settings)
    if key is not None:
        check_key(key())  # said now, rather than with the first question
    try:
        return resolve_reranker(
            spec,
            api_key=key,
            allow_loopback=True,
            allow_private=settings.rerank_allow_private,
            embedder=embedder,
            **PATIENT,
        )
    except ValidationError as error:
        raise WrongUsage(f"--rerank {kind}: {_as_settings(str(error))}") from error


def _as_settings(sentence: str) -> str:
    """What the library calls its arguments, as whoever sits before the command can give them."""
    always = sentence.replace(", with allow_loopback", "").replace(ALL_SPECS, SPECS)
    return always.replace("with allow_private", f"with {variable_of('rerank_allow_private')}=true")


def unsent(rerank_error: str) -> str:
    """What the library says of a reranker that was given no passage, with the setting that says what may be sent."""
    from headwater.answering.recipe import OUTSIDE

    return rerank_error.replace(
        OUTSIDE, f"is asked outside, and {variable_of('hosted_sensitivities')} lets none of their labels go"
    )


def _key(settings: Settings) -> Callable[[], str] | None:
    file, variable = settings.rerank_key_file, settings.rerank_key_variable
    if file is not None and variable is not None:
        raise WrongUsage(f"Set {variable_of('rerank_key_file')} or {variable_of('rerank_key_variable')}, not both.")
    if file is not None:
        return lambda: _from_file(file)
    if variable is not None:
        return lambda: _from_variable(variable)
    return None


def _from_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(KEY_BYTES + 1)
    except OSError as error:
        raise WrongUsage(
            f"{variable_of('rerank_key_file')} names {file}, which cannot be read: {error.strerror}."
        ) from None
    if len(content) > KEY_BYTES:
        raise WrongUsage(f"{variable_of('rerank_key_file')} names {file}, which is too long for a key.")
    return content.decode("ascii", errors="replace").strip()


def _from_variable(name: str) -> str:
    if name not in os.environ:
        raise WrongUsage(f"{variable_of('rerank_key_variable')} names {name}, which is not set.")
    return os.environ[name].strip()
