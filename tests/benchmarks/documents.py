"""What is synced here: the 395 real documents where they are at hand, and generated ones."""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REAL: Final = Path(os.environ.get("HEADWATER_TEST_DATA", Path(__file__).parents[3] / "shared" / "data")) / "corpus"
COUNT: Final = 395

_SYLLABLES: Final = ("an", "be", "con", "de", "el", "for", "in", "ka", "lo", "men", "no", "per", "re", "so", "ta", "un")


@dataclass(frozen=True)
class Documents:
    """A folder, and in a few words what it holds."""

    folder: Path
    said: str


def documents(scratch: Path) -> Documents:
    """The 395 real documents; without them, as many generated ones of the same length in ``scratch``."""
    if REAL.is_dir():
        return Documents(REAL, f"{COUNT} real documents")
    folder = scratch / "generated"
    if not folder.exists():
        for number in range(COUNT):
            write(folder, number, paragraphs=24)
    return Documents(folder, f"{COUNT} generated documents (no HEADWATER_TEST_DATA here)")


def sample(synced: Documents, count: int, folder: Path) -> Path:
    """``folder`` with ``count`` of the documents, taken evenly from all of them."""
    paths = sorted(path for path in synced.folder.rglob("*") if path.is_file())
    for number in range(min(count, len(paths))):
        path = paths[number * len(paths) // min(count, len(paths))]
        copy = folder / path.relative_to(synced.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return folder


def write(folder: Path, number: int, *, paragraphs: int) -> None:
    """Document ``number``: Markdown of ``paragraphs`` paragraphs of about 400 characters, always the same."""
    rng = random.Random(number)
    lines = [f"# Document {number}"]
    for paragraph in range(paragraphs):
        if paragraph % 6 == 5:
            lines.append(f"## Section {paragraph}")
        words = ("".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(70))
        lines.append(f"{' '.join(words).capitalize()}.")
    path = folder / f"{number % 100:02}" / f"{number:05}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(lines) + "\n")
