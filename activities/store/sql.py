"""SQL from files: named blocks, with the schema's name put in quoted. Values are always bound by psycopg.

A file is a list of blocks, each under a heading ``-- name --``. ``{schema}`` stands for the schema, ``{reader}`` and
``{host}`` for its roles. Blocks are always executed with parameters (``{}`` will do): only then does psycopg read ``%%`` as ``%``.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

_HEADING = re.compile(r"^-- ([a-z][a-z0-9_]*) --\s*$", re.MULTILINE)


def reader_role(schema: str) -> str:
    """The role that may read and no more. A login of the host's choice is granted it."""
    return f"{schema}_reader"


def host_role(schema: str) -> str:
    """The role that may hand in content and no more. A login of a host's choice is granted it."""
    return f"{schema}_host"


def quoted(name: str) -> str:
    """``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def fill(text: str, schema: str) -> str:
    """``text`` with ``{schema}``, ``{reader}`` and ``{host}`` as identifiers, in one pass: a name may itself hold braces."""
    names = {"{schema}": schema, "{reader}": reader_role(schema), "{host}": host_role(schema)}
    return re.sub(r"\{(schema|reader|host)\}", lambda match: quoted(names[match[0]]), text)


def in_slab(statement: bytes, slab: int) -> bytes:
    """``statement`` for one partition of chunk alone: the number is written out.

    Of a bound one a generic plan knows nothing, so it locks every partition, also one that is just being dropped.
    """
    return statement.replace(b"%(slab)s", b"%d" % slab)


def written(statement: bytes, **numbers: int) -> bytes:
    """``statement`` as it is sent without parameters: for commands that take none, with their numbers written out."""
    statement = statement.replace(b"%%", b"%")
    for name, number in numbers.items():
        statement = statement.replace(b"{%b}" % name.encode(), b"%d" % number)
    return statement


@cache
def queries(schema: str, name: str) -> Mapping[str, bytes]:
    """The blocks of ``queries/<name>.sql``. Bytes, which psycopg takes from files without calling them injected."""
    text = resources.files("activities.store").joinpath("queries", f"{name}.sql").read_text("utf-8")
    parts = _HEADING.split(text)[1:]
    blocks = dict(zip(parts[::2], parts[1::2], strict=True))
    # A percent sign in the schema's name must not look like a parameter.
    return MappingProxyType(
        {block: fill(body, schema.replace("%", "%%")).strip().encode() for block, body in blocks.items()}
    )
