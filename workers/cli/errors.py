"""From what went wrong to one sentence and an exit status: 1 failed, 2 wrong usage, 130 interrupted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click
import pydantic

from headwater.contracts.shared import first_fault
from headwater.errors import HeadwaterError, LimitError, RerankError, ScopeError, ValidationError
from workers.guard.errors import ServiceError
from workers.settings import SettingsError

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
SENTENCE_MAX: Final = 1000

# What the library calls its arguments, and a person typed as options.
OPTION_OF: Final = {
    "principal_id": "--as",
    "group_ids": "--group",
    "query": "QUERY",
    "scopes": "--corpus",
    "top_k": "--top-k",
    "candidates": "--candidates",
    "filter": "--filter",
    "generation": "--generation",
    "source_id": "ID",
    "source_ids": "ID",
    "embedder": "--embedder",
    "chunker": "--chunker",
    "language": "--language",
}


class CommandFailed(HeadwaterError):
    """The command could not do what it was asked. The message says what to do."""


class WrongUsage(HeadwaterError, ValueError):
    """The command was asked for something it cannot do at all."""


class Interrupted(HeadwaterError):
    """Somebody pressed Ctrl-C; the message says what was left behind, if anything."""


def exit_status(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | click.Abort | Interrupted):
        return EXIT_INTERRUPTED
    if isinstance(error, click.ClickException):
        return error.exit_code
    if isinstance(error, WrongUsage | SettingsError):
        return EXIT_USAGE
    return EXIT_FAILED


def sentence_of(error: BaseException) -> str:
    """One line for a person."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "headwater"
        text = f"{error.format_message().rstrip('.')}; see '{where} --help'."
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, KeyboardInterrupt | click.Abort):
        text = "Interrupted."
    elif isinstance(error, HeadwaterError | ServiceError):
        text = str(error)
    elif isinstance(error, OSError) and error.strerror:
        place = f" ({error.filename})" if error.filename else ""
        text = f"The system refused: {error.strerror}{place}; run again with --debug to see where."
    else:
        # A message of somebody else's exception may quote a document or a password: only its type is shown.
        text = f"This should not have happened ({type(error).__qualname__}): run again with --debug and report what it shows."
    return " ".join(text.split())[:SENTENCE_MAX]


@contextmanager
def arguments() -> Iterator[None]:
    """What the library says about an argument it was given is wrong usage here."""
    try:
        yield
    except RerankError:  # no argument's fault: it is away, or answers what it should not
        raise
    except (ValidationError, LimitError, ScopeError) as error:
        raise WrongUsage(as_typed(str(error))) from error
    except pydantic.ValidationError as error:
        raise WrongUsage(as_typed(str(first_fault(error)))) from None


def as_typed(sentence: str) -> str:
    """A sentence that begins with an argument of the library's, or with a field's place, begins with the option instead."""
    place, colon, rest = sentence.partition(": ")
    named = [OPTION_OF[part] for part in place.split(".") if part in OPTION_OF]
    if colon and named:
        told = as_typed(rest)
        return told if told != rest else f"{named[-1]}: {rest}"
    argument, space, rest = sentence.partition(" ")
    return f"{OPTION_OF.get(argument, argument)}{space}{rest}"
