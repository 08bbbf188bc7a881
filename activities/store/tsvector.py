"""tsvectors as Postgres takes them in binary: it makes none from words that were found elsewhere without reading them again."""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from psycopg import Connection, adapt
from psycopg.pq import Format

PLACES: Final = 255  # of one lexeme
LAST_PLACE: Final = 16_383


class TsVector(bytes):
    """A tsvector on the wire."""


def tsvector(places: Mapping[str, Sequence[int]]) -> TsVector:
    """A lexeme for each term, in the order of bytes that Postgres keeps them in."""
    parts = [struct.pack(">i", len(places))]
    for term, positions in sorted((term.encode(), positions) for term, positions in places.items()):
        kept = _kept(positions)
        parts.append(b"%b\0%b" % (term, struct.pack(f">H{len(kept)}H", len(kept), *kept)))
    return TsVector(b"".join(parts))


def _kept(positions: Sequence[int]) -> Sequence[int]:
    """Ascending, each once, and no more than a lexeme has. What comes later stands at the last place."""
    if len(positions) == 1:
        return (min(positions[0], LAST_PLACE),)
    return sorted({min(position, LAST_PLACE) for position in positions})[:PLACES]


def register_tsvector(connection: Connection) -> None:
    """Lets ``connection`` copy `TsVector` in."""
    known = connection.adapters.types["tsvector"]
    connection.adapters.register_dumper(TsVector, type("TsVectorDumper", (_Dumper,), {"oid": known.oid}))


class _Dumper(adapt.Dumper):
    format = Format.BINARY

    def dump(self, obj: TsVector) -> bytes:
        return bytes(obj)
