"""Which source a judgement means: judgements name documents as their collection does, a corpus as its connectors do."""

from collections.abc import Collection, Iterable, Iterator
from urllib.parse import unquote


class JudgedDocuments:
    """The names that judgements use, and which source goes by which.

    A source goes by its id; one of a folder also by its path in there, with and without what follows the last dot, and one of
    Drive by its file id. The most exact name that is judged counts. Sources that go by one name are one document.
    """

    def __init__(self, judged: Collection[str]) -> None:
        self._judged = frozenset(judged)

    def of(self, source_id: str) -> str:
        """The document that a source is: the name that is judged, or its id where none is."""
        return next((name for name in _names(source_id) if name in self._judged), source_id)

    def missing(self, source_ids: Iterable[str]) -> list[str]:
        """What is judged and is none of these sources, in order."""
        return sorted(self._judged.difference(map(self.of, source_ids)))


def _names(source_id: str) -> Iterator[str]:
    yield source_id
    kind, is_of_connector, rest = source_id.partition(":")
    if not is_of_connector:
        return
    if kind == "drive":
        yield rest
    if kind == "folder":
        path = unquote(rest.partition("/")[2])
        yield path
        folder, slash, name = path.rpartition("/")
        stem, dot, _ = name.rpartition(".")
        if dot and stem:
            yield f"{folder}{slash}{stem}"
