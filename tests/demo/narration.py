"""How the demo speaks: numbered steps, the commands it types, and what it saw."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.text import Text

WIDTH_OF_A_PIPE: Final = 130
BOLD, DIM, GREEN = "1", "2", "32"


@dataclass
class Narration:
    """Prints to a terminal in colour, elsewhere plainly."""

    colour: bool = field(default_factory=lambda: sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    steps: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def took_s(self) -> float:
        return time.monotonic() - self.began

    def step(self, sentence: str) -> None:
        self.steps += 1
        self._print(f"\n{self._paint(f'{self.steps}. {sentence}', BOLD)}")

    def say(self, sentence: str) -> None:
        self._print(f"   {sentence}")

    def aside(self, sentence: str) -> None:
        self._print(self._paint(f"   {sentence}", DIM))

    def command_line(self, line: str) -> None:
        """Something for the reader to type."""
        self._print(f"       {line}")

    def command(self, arguments: Sequence[str]) -> None:
        """The command as a person would type it."""
        self._print(self._paint(f"   $ {shlex.join(['headwater', *arguments])}", DIM))

    def seen(self, sentence: str) -> None:
        """Something that was checked and holds."""
        self._print(f"   {self._paint('✓', GREEN)} {sentence}")

    def quote(self, text: str, *, lines: int | None = None) -> None:
        """Output of a command, folded to the terminal; at most ``lines`` of it, when that is given."""
        width = shutil.get_terminal_size((WIDTH_OF_A_PIPE, 0)).columns - len("   │ ")
        shown = [part for line in text.rstrip("\n").splitlines() for part in _folded(line, max(width, 20))]
        for line in shown[:lines]:
            self._print(f"   {self._paint('│', DIM)} {line}")
        if lines is not None and len(shown) > lines:
            self._print(f"   {self._paint('│ …', DIM)}")

    def _print(self, line: str) -> None:
        # A stream of another encoding (LC_ALL=C and an old terminal) shows what it can.
        encoding = sys.stdout.encoding or "utf-8"
        print(line.encode(encoding, "replace").decode(encoding), flush=True)

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def _folded(line: str, width: int) -> list[str]:
    """``line`` in parts that fit, each as far to the right as its beginning."""
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    parts = Text(line.strip()).wrap(Console(width=width), width - len(indent))
    return [(indent + part.plain).rstrip() for part in parts] or [""]
