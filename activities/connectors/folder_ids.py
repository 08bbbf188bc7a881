"""Names of files as source ids, locators and labels: paths are bytes, ids are a small alphabet, people read text.

All paths here are relative to the connector's root, with ``/`` between components, unless a name says otherwise.
"""

import hashlib
import os
import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from headwater.ids import SOURCE_ID_MAX
from headwater.models import Scope

_SAFE: Final = b":/@!$&'()*+,;="  # beside letters, digits and _.-~, which are always kept
_LOOKS_HASHED: Final = re.compile(r"~[0-9a-f]{64}\Z")
_OUTSIDE_NAMES: Final = re.compile(r"[^A-Za-z0-9._@~-]")
_ESCAPED: Final = re.compile("[%\udc80-\udcff]")
_BASE_NAME_MAX: Final = 64 - len("-123456")


def encode_path(path: bytes) -> str:
    """The path percent-encoded: one-to-one, reversed by `decode_path`."""
    encoded = quote_from_bytes(path, safe=_SAFE)
    # A file that is called like the id of a long path must not get that id.
    return f"%7E{encoded[1:]}" if encoded[0] == "~" and _LOOKS_HASHED.match(encoded) else encoded


def decode_path(encoded: str) -> bytes:
    return unquote_to_bytes(encoded)


def source_id(prefix: str, encoded: str) -> str:
    """``folder:<name>/<encoded path>``; ``folder:<name>/~<sha256 of the encoded path>`` where that is too long."""
    if len(prefix) + len(encoded) <= SOURCE_ID_MAX:
        return prefix + encoded
    return f"{prefix}~{hashlib.sha256(encoded.encode('ascii')).hexdigest()}"


def id_prefix(connector: str) -> str:
    return f"folder:{connector}/"


def to_locator(encoded: str, mount: bytes | None) -> str:
    """The encoded path; behind a question mark, which no encoded path holds, the mount point that the file is under."""
    return encoded if mount is None else f"{encoded}?{encode_path(mount)}"


def from_locator(locator: str) -> tuple[bytes, bytes | None]:
    """The path, and the mount point that the file was under."""
    path, _, mount = locator.partition("?")
    return decode_path(path), decode_path(mount) if mount else None


def label(path: bytes) -> str:
    """The path as people and access rules see it. Bytes that are no UTF-8 become U+FFFD."""
    return path.decode("utf-8", "replace")


def quoted(path: bytes, *, length: int = 200) -> str:
    """The end of the path in quotes, control characters escaped: fit for a one-line sentence."""
    text = label(path)
    return repr(text if len(text) <= length else f"…{text[-length:]}")


def path_to_text(path: str | bytes) -> str:
    """An absolute path as text that fits in JSON: ``%`` and bytes that are no UTF-8 percent-encoded."""
    text = os.fsencode(path).decode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", text)


def path_from_text(text: str) -> bytes:
    return unquote_to_bytes(text)


def default_connector_name(scope: Scope, root: str | bytes) -> str:
    """The name of a folder's connector when nobody gave one: the same folder in the same corpus has the same name."""
    real_path = os.path.realpath(os.fsencode(root))
    base = _OUTSIDE_NAMES.sub("-", os.path.basename(real_path).decode("utf-8", "replace")) or "root"
    digest = hashlib.sha256(f"{scope}\0".encode() + real_path).hexdigest()
    return f"{base[:_BASE_NAME_MAX]}-{digest[:6]}"
