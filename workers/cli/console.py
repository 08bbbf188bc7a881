"""What a person or a program sees: data on stdout, everything else on stderr."""

import io
import json
import os
import sys
import unicodedata
from typing import Any, Final, Literal

import click
from rich.console import Console
from rich.text import Text

ColourChoice = Literal["auto", "always", "never"]
# A pipe has no width: nothing is folded there.
PIPE_WIDTH: Final = 1000
_OVERRIDES: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Output:
    """The two streams of one command."""

    def __init__(self, *, colour: ColourChoice = "auto") -> None:
        for stream in (sys.stdout, sys.stderr):
            # A locale without the character asked for is no reason to fail.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self.colour = colour
        self.out = self._console(is_stderr=False)
        self.err = self._console(is_stderr=True)

    def _console(self, *, is_stderr: bool) -> Console:
        stream = sys.stderr if is_stderr else sys.stdout
        # rich itself honours NO_COLOR; FORCE_COLOR and the like would colour a pipe and are left out.
        return Console(
            file=stream,
            force_terminal=True if self.colour == "always" else stream.isatty(),
            no_color=False if self.colour == "always" else (True if self.colour == "never" else None),
            highlight=False,
            markup=False,
            emoji=False,
            width=None if stream.isatty() else PIPE_WIDTH,
        )

    def line(self, text: str) -> None:
        """Write one line of data."""
        self.out.print(Text(one_line(text)), soft_wrap=True)

    @property
    def is_interactive(self) -> bool:
        """Whether a progress bar can be drawn: stderr is a terminal that moves its cursor."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def json(self, document: Any) -> None:
        """Write the one JSON document of a command, as UTF-8 whatever the locale."""
        click.echo(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))

    def note(self, sentence: str) -> None:
        """Say something beside the data."""
        self.err.print(Text(one_line(sentence)), soft_wrap=True)

    def warn(self, sentence: str) -> None:
        self.err.print(Text.assemble(("Warning: ", "yellow"), one_line(sentence)), soft_wrap=True)

    def show_cursor(self) -> None:
        """Undo what a progress bar did to the terminal, for a process that is about to leave at once."""
        self.err.show_cursor(True)

    def fail(self, sentence: str) -> None:
        self.err.print(Text.assemble(("headwater: ", "bold red"), one_line(sentence)), soft_wrap=True)


def printable(text: str) -> str:
    """``text`` without what could command a terminal or cannot be encoded: documents and file names are not trusted."""
    return "".join("\ufffd" if _is_unsafe(c) else c for c in text)


def one_line(text: str) -> str:
    """The same without its line breaks: a file's name could otherwise say what looks like a line of ours."""
    return " ".join(printable(text).splitlines())


def _is_unsafe(character: str) -> bool:
    # Directional overrides make a name read as another one; joiners and marks, Cf too, belong to ordinary writing.
    return character in _OVERRIDES or (character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs"))


def plain(text: str | None) -> Text:
    """``text`` for a table cell, on one line."""
    return Text(" ".join(printable(text or "").split()))
