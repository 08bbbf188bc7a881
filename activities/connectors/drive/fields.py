"""Which fields Drive is asked for: every mask in one place, held against the discovery document before the first call.

A field that a mask forgets is not an error to Drive: it is silently absent, and a forgotten page token ends a listing
early. What `check_masks` passes has no field that Drive does not know, and every field without which an answer would
look complete.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headwater.errors import PermanentError

# Absent they read as "there is no more", "nothing is missing".
_NEVER_FORGOTTEN: Final = ("nextPageToken", "newStartPageToken", "incompleteSearch")
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*|[(),]")


class MaskError(PermanentError):
    """A field mask does not fit the discovery document: a defect, or another version of the client library."""


@dataclass(frozen=True, slots=True)
class Mask:
    """``fields`` of one method. ``method`` is its name in the discovery document: ``files.list``."""

    method: str
    fields: str


PERMISSION: Final = (
    "id,type,role,emailAddress,domain,allowFileDiscovery,expirationTime,deleted,pendingOwner,view,"
    "inheritedPermissionsDisabled,permissionDetails(permissionType,role,inherited,inheritedFrom)"
)
# What decides whether a file is read at all, whether it changed, where it lies and who may read it.
FILE: Final = (
    "id,name,mimeType,parents,trashed,version,modifiedTime,size,md5Checksum,headRevisionId,driveId,"
    "webViewLink,resourceKey,shortcutDetails(targetId,targetResourceKey),"
    "capabilities(canDownload),clientEncryptionDetails(encryptionState),"
    "inheritedPermissionsDisabled,hasAugmentedPermissions,permissionIds,"
    f"permissions({PERMISSION})"
)
# What must be the same after a download as before it, and where an export beyond 10 MB is.
CONTENT: Final = "id,name,mimeType,trashed,version,modifiedTime,size,md5Checksum,headRevisionId,exportLinks"

FILES_LIST: Final = Mask("files.list", f"nextPageToken,incompleteSearch,files({FILE})")
FILES_GET: Final = Mask("files.get", FILE)
CONTENT_GET: Final = Mask("files.get", CONTENT)
CHANGES_LIST: Final = Mask(
    "changes.list",
    f"nextPageToken,newStartPageToken,changes(changeType,time,removed,fileId,driveId,drive(id,name),file({FILE}))",
)
START_PAGE_TOKEN: Final = Mask("changes.getStartPageToken", "startPageToken")
PERMISSIONS_LIST: Final = Mask("permissions.list", f"nextPageToken,permissions({PERMISSION})")
DRIVES_LIST: Final = Mask("drives.list", "nextPageToken,drives(id,name)")
DRIVES_GET: Final = Mask("drives.get", "id,name")
ABOUT: Final = Mask("about.get", "user(emailAddress,displayName,permissionId)")
DOWNLOAD: Final = Mask("files.download", "name,done,response,error(code,message)")
OPERATION: Final = Mask("operations.get", "name,done,response,error(code,message)")

MASKS: Final = (
    FILES_LIST,
    FILES_GET,
    CONTENT_GET,
    CHANGES_LIST,
    START_PAGE_TOKEN,
    PERMISSIONS_LIST,
    DRIVES_LIST,
    DRIVES_GET,
    ABOUT,
    DOWNLOAD,
    OPERATION,
)


def check_masks(document: Mapping[str, Any], masks: tuple[Mask, ...] = MASKS) -> None:
    """Raises `MaskError` at the first mask that asks for what is not there, or not for what must be."""
    for mask in masks:
        schema = _answer_schema(document, mask)
        asked = _parse(mask)
        _check(document, schema, asked, mask, where="")
        for name in _NEVER_FORGOTTEN:
            if name in schema.get("properties", {}) and name not in asked:
                raise MaskError(
                    f"The mask of {mask.method} does not ask for {name}, without which no answer is complete."
                )


_Tree = dict[str, "_Tree | None"]


def _parse(mask: Mask) -> _Tree:
    """``a,b(c,d)`` as ``{"a": None, "b": {"c": None, "d": None}}``. Stars and slashes are not used here."""
    tokens = list(_tokens(mask))
    tree, rest = _fields(tokens, mask)
    if rest:
        raise MaskError(f"The mask of {mask.method} has one parenthesis too many.")
    return tree


def _tokens(mask: Mask) -> Iterator[str]:
    position = 0
    while position < len(mask.fields):
        found = _TOKEN.match(mask.fields, position)
        if found is None:
            raise MaskError(f"The mask of {mask.method} has {mask.fields[position]!r} where a field should be.")
        yield found[0]
        position = found.end()


def _fields(tokens: list[str], mask: Mask) -> tuple[_Tree, list[str]]:
    tree: _Tree = {}
    while True:
        if not tokens or not tokens[0][0].isalpha():
            raise MaskError(f"The mask of {mask.method} has an empty place where a field should be.")
        name, *tokens = tokens
        if name in tree:
            raise MaskError(f"The mask of {mask.method} asks twice for {name}.")
        tree[name] = None
        if tokens and tokens[0] == "(":
            tree[name], tokens = _fields(tokens[1:], mask)
            if not tokens or tokens[0] != ")":
                raise MaskError(f"The mask of {mask.method} leaves the parenthesis after {name} open.")
            tokens = tokens[1:]
        if not tokens or tokens[0] != ",":
            return tree, tokens
        tokens = tokens[1:]


def _answer_schema(document: Mapping[str, Any], mask: Mask) -> Mapping[str, Any]:
    *resources, method = mask.method.split(".")
    found: Mapping[str, Any] = document
    for name in resources:
        found = found.get("resources", {}).get(name, {})
    answer = found.get("methods", {}).get(method, {}).get("response")
    if answer is None:
        raise MaskError(f"The discovery document has no method {mask.method} that answers.")
    return _resolve(document, answer)


def _resolve(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an object, behind references and lists."""
    while True:
        if "$ref" in schema:
            schema = document["schemas"][schema["$ref"]]
        elif schema.get("type") == "array":
            schema = schema["items"]
        else:
            return schema


def _check(document: Mapping[str, Any], schema: Mapping[str, Any], asked: _Tree, mask: Mask, *, where: str) -> None:
    properties = schema.get("properties", {})
    for name, below in asked.items():
        if name not in properties:
            raise MaskError(f"The mask of {mask.method} asks for {where}{name}, which Drive does not know.")
        if below is not None:
            _check(document, _resolve(document, properties[name]), below, mask, where=f"{where}{name}.")


__all__ = [
    "ABOUT",
    "CHANGES_LIST",
    "CONTENT_GET",
    "DOWNLOAD",
    "DRIVES_GET",
    "DRIVES_LIST",
    "FILES_GET",
    "FILES_LIST",
    "MASKS",
    "OPERATION",
    "PERMISSIONS_LIST",
    "START_PAGE_TOKEN",
    "Mask",
    "MaskError",
    "check_masks",
]
