"""`make bench`, or `python -m tests.benchmarks [a b … n]`: measures, and prints each figure beside its goal."""

import argparse
import asyncio
import importlib
import sys
from typing import Final

from tests.benchmarks.measuring import PAIRS, Figure
from tests.benchmarks.options import Options

FIGURES: Final = {
    "a": "overhead",
    "b": "whole_sync",
    "c": "unchanged",
    "d": "retrieval",
    "e": "memory",
    "f": "idle",
    "g": "second_start",
    "h": "publish",
    "i": "propagation",
    "j": "moves",
    "k": "flip",
    "l": "reindex",
    "m": "garbage",
    "n": "drive",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="a to n; all without one")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="how often each is measured (%(default)s)")
    parser.add_argument("--files", type=int, default=20_000, help="(c): files of the folder (%(default)s)")
    parser.add_argument(
        "--documents", type=int, default=40, help="(b), (l): documents of the corpus, 395 for all (%(default)s)"
    )
    parser.add_argument("--idle-seconds", type=float, default=120, help="(f): how long to look on (%(default)s)")
    parser.add_argument(
        "--drive-files", type=int, default=10_000, help="(n): files of the emulated Drive (%(default)s)"
    )
    asked = parser.parse_args()
    chosen = sorted(set(asked.figures)) or list(FIGURES)
    if unknown := [letter for letter in chosen if letter not in FIGURES]:
        parser.error(f"there is no figure {unknown[0]}: choose from {' '.join(FIGURES)}")
    options = Options(asked.pairs, asked.files, asked.documents, asked.idle_seconds, asked.drive_files)
    missed = []
    for letter in chosen:
        print(f"({letter}) is being measured …", file=sys.stderr, flush=True)
        figure: Figure = asyncio.run(importlib.import_module(f"tests.benchmarks.{FIGURES[letter]}").measure(options))
        print(figure, flush=True)
        missed += [letter for reading in figure.readings if not reading.is_met]
    print(f"Goals missed: {', '.join(sorted(set(missed))) or 'none'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
