"""The grammar of identifiers: what a scope, a source, a connector and a chunk may be called.

Every check raises ``ValidationError`` naming the field, and never repeats more than 80 characters of the value.
"""

import re
from typing import Final

from headwater.errors import ValidationError

SCOPE_PART: Final = re.compile(r"[A-Za-z0-9._@~-]{1,64}\Z")
SOURCE_ID: Final = re.compile(r"[A-Za-z0-9._~:/@!$&'()*+,;=%-]{1,256}\Z")
SOURCE_ID_MAX: Final = 256
SCHEMA_BYTES: Final = 56  # leaves room for "_reader" within the 63 that Postgres keeps of a name
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates: Postgres holds neither


def schema_pattern(pattern: re.Pattern[str]) -> str:
    """``pattern`` as a JSON Schema writes it, which knows no end but ``$``."""
    return "^" + pattern.pattern.removesuffix(r"\Z") + "$"


def check_scope_part(value: str, field: str) -> str:
    """``value`` unchanged, if it is a tenant, resource, corpus, connector or request id."""
    if not SCOPE_PART.match(value):
        raise ValidationError(f"{field} {value[:80]!r} must be 1 to 64 characters of A-Z a-z 0-9 . _ @ ~ -.")
    return value


def check_source_id(value: str, field: str = "source_id") -> str:
    """``value`` unchanged, if it is a source id: 1 to 256 characters that are safe in a URL."""
    if not SOURCE_ID.match(value):
        raise ValidationError(
            f"{field} {value[:80]!r} must be 1 to 256 characters of A-Z a-z 0-9 . _ ~ : / @ ! $ & ' ( ) * + , ; = % -."
        )
    return value


def check_schema(schema: str) -> str:
    """``schema`` unchanged, if Postgres can have a schema of that name and a reader role named after it."""
    # Postgres keeps pg_ for itself, and UTF-8 has no half of a surrogate pair.
    if (
        not 0 < len(schema.encode("utf-8", "surrogatepass")) <= SCHEMA_BYTES
        or UNSTORABLE.search(schema)
        or schema.startswith("pg_")
    ):
        raise ValidationError(
            f"schema {schema[:80]!r} must have 1 to {SCHEMA_BYTES} bytes, no NUL, and not begin with pg_."
        )
    return schema


def chunk_id(source_id: str, chunk_no: int) -> str:
    """``source_id#0001``: counted from 1, at least four digits, growing past 9999."""
    return f"{source_id}#{chunk_no:04d}"
