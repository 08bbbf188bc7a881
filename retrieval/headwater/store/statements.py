"""The statements of ``queries/``, put together from their blocks.

A block begins with its name, ``-- recheck --`` on a line of its own, and goes on to the next. ``{name}`` in it is another block, or
a place that whoever asks for the statement fills: which are places is said in the files, in lines that begin with ``-- places:``. So
a name is one or the other, wherever it stands, and what is neither is an error before anything is asked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Final

from psycopg import sql

SCHEMA: Final = "schema"  # the one place that is always filled

_HEADING = re.compile(r"^-- ([a-z0-9_]+) --\n", re.MULTILINE)
_PLACES = re.compile(r"^-- places:(.*)\n", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*--.*\n", re.MULTILINE)
_NAME = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Blocks:
    """SQL by name, without comments and indents, and the names that are filled by whoever asks."""

    sql: Mapping[str, str]
    places: frozenset[str]

    @classmethod
    def of(cls, files: Mapping[str, str]) -> "Blocks":
        """What the texts of ``files`` hold, by the names of the files, or the mistake in them."""
        places = frozenset(
            {SCHEMA, *(name for text in files.values() for said in _PLACES.findall(text) for name in said.split())}
        )
        found: dict[str, str] = {}
        for file, text in files.items():
            parts = _HEADING.split(text)
            for name, block in zip(parts[1::2], parts[2::2], strict=True):
                if name in found or name in places:
                    raise ValueError(f"{file}: {name} names two things.")
                # Without comments and indents all statements but the searches stay below the 4,096 bytes up to which psycopg
                # remembers their parameters; beyond, it looks for them in every call, which takes about 0.2 ms.
                bare = _COMMENT.sub("", block)
                if "--" in bare:
                    raise ValueError(f"{file}: in {name} a comment stands behind code, and would go on to the end.")
                found[name] = " ".join(bare.split()).rstrip(";")
        asked = {name for block in found.values() for name in _NAME.findall(block)}
        if unknown := asked - found.keys() - places:
            raise ValueError(f"{', '.join(sorted(unknown))}: neither a block nor said to be a place.")
        if unused := places - asked - {SCHEMA}:
            raise ValueError(f"{', '.join(sorted(unused))}: said to be a place, and in no block.")
        return cls(MappingProxyType(found), places)

    def statement(self, name: str, *, written: Mapping[str, str], chosen: Mapping[str, int | str]) -> str:
        """The block ``name`` with all its parts. Of its places some hold what is ``written``, others the number or the block that is ``chosen``.

        A place that is chosen for and is not there is an error, as is one that nothing is given for: somebody meant another statement.
        """
        asked: set[str] = set()

        def part(found: re.Match[str]) -> str:
            place = found[1]
            if place not in self.places:
                return filled(place)
            asked.add(place)
            if place in written:
                return written[place]
            if place not in chosen:
                raise ValueError(f"{name} has the place {place}, and nothing is given for it.")
            given = chosen[place]
            return filled(given) if isinstance(given, str) else str(given)

        def filled(block: str) -> str:
            return _NAME.sub(part, self.sql[block])

        whole = filled(name)
        if surplus := chosen.keys() - asked:
            raise ValueError(f"{name} has no place {', '.join(sorted(surplus))}.")
        return whole


@lru_cache(maxsize=512)
def statement(name: str, schema: str, *, written: tuple[tuple[str, str], ...] = (), **places: int | str) -> bytes:
    """The block ``name`` of ``queries/`` with its parts, the quoted schema and what is given here in place.

    Of ``places`` a number is written out, and a text names the block that stands there; ``written`` is SQL as it is. To be executed
    with parameters, if only ``{}``: psycopg then reads the ``%%`` of a schema's name as ``%``.
    """
    quoted = sql.Identifier(schema).as_string(None).replace("%", "%%")
    return _blocks().statement(name, written={**dict(written), SCHEMA: quoted}, chosen=places).encode()


@cache
def _blocks() -> Blocks:
    files = resources.files("headwater.store").joinpath("queries").iterdir()
    return Blocks.of({file.name: file.read_text("utf-8") for file in files if file.name.endswith(".sql")})
