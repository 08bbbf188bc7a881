"""Documents that come in editions: every passage says which one it is of, so that a reader can tell a mixture."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from activities.connectors import AccessRule
from headwater.chunking.profile import ChunkingProfile
from tests.pipeline.harness import Shelf

DOCUMENTS: Final = 20
PARTS: Final = 8  # of a document
PAGE_SIZE: Final = 10
# A part each, and no two in one.
CHUNKING: Final = ChunkingProfile(size=200, overlap=0)
# What one reader may see of a page at once: as many passages as one answer holds.
TOGETHER: Final = {"page-1": range(4), "page-2": range(10, 14)}

_PART: Final = re.compile(r"Document (\d+), edition (\d+), part (\d+): ")


def write_edition(shelf: Shelf, edition: int) -> None:
    for document in range(DOCUMENTS):
        shelf.write(f"{document:02}.txt", "\n\n".join(parts_of(document, edition)))


def parts_of(document: int, edition: int) -> list[str]:
    return [
        f"Document {document:02}, edition {edition}, part {part}: "
        + f"what chapter {part} of book {document} says in its printing of the year {1900 + edition}, and in no other."
        for part in range(1, PARTS + 1)
    ]


def readers() -> AccessRule:
    """Each document has a reader of its own; some documents of each page have one reader for all of them."""
    rules = []
    for document in range(DOCUMENTS):
        names = [f"only-{document:02}", *(name for name, some in TOGETHER.items() if document in some)]
        rules.append({"path": f"{document:02}.txt", "grant": [f"user:{name}" for name in names]})
    return AccessRule.from_json({"rules": rules})


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one answer showed: the edition, if there was one, and what was wrong with it."""

    edition: int
    faults: Sequence[str]


def look(texts: Iterable[str], documents: Iterable[int]) -> Sighting:
    """Judges an answer that must hold all parts of all ``documents``, in one edition, each once."""
    seen: Counter[tuple[int, int]] = Counter()
    editions: set[int] = set()
    faults: list[str] = []
    for text in texts:
        found = _PART.match(text)
        if found is None:
            faults.append("a passage that no edition has")
            continue
        document, edition, part = map(int, found.groups())
        seen[document, part] += 1
        editions.add(edition)
    wanted = {(document, part) for document in documents for part in range(1, PARTS + 1)}
    faults += [f"document {document} lacks part {part}" for document, part in sorted(wanted - set(seen))]
    faults += [f"document {document} is not for this reader" for document, _ in sorted(set(seen) - wanted)]
    faults += [f"document {key[0]} has part {key[1]} {count} times" for key, count in seen.items() if count > 1]
    if len(editions) > 1:
        faults.append(f"editions {sorted(editions)} are mixed")
    return Sighting(max(editions, default=0), faults)
