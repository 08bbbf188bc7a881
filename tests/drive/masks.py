"""The `fields` parameter: which fields of an answer are sent.

The grammar is Google's: `files(id,name)`, `files/id`, `*`, nested as deep as the schema goes. A name that the schema
does not have is refused, as Drive does; without a mask Drive sends a few basic fields and nothing tells the caller what
is missing, which is how connectors come to believe that a document has no checksum or a permission no domain.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from tests.drive.discovery import Schema, resolved
from tests.drive.error_json import invalid_parameter, required_parameter
from tests.drive.errors import DriveError

Mask: TypeAlias = dict[str, "Mask"]
"""The chosen fields, each with the mask of what is below it. The name `*` chooses every field; an empty mask, all."""

EVERYTHING: Final[Mask] = {}

_FILE: Final = "kind,id,name,mimeType,resourceKey,driveId,teamDriveId"
_PERMISSION: Final = "kind,id,type,role"
_DRIVE: Final = "kind,id,name"

# What Drive sends to those who do not say what they want.
DEFAULT_FIELDS: Final[Mapping[str, str]] = {
    "drive.changes.list": f"kind,nextPageToken,newStartPageToken,"
    f"changes(kind,removed,file({_FILE}),fileId,drive({_DRIVE}),driveId,time,type,changeType)",
    "drive.drives.create": _DRIVE,
    "drive.drives.get": _DRIVE,
    "drive.drives.list": f"kind,nextPageToken,drives({_DRIVE})",
    "drive.drives.update": _DRIVE,
    "drive.files.copy": _FILE,
    "drive.files.create": _FILE,
    "drive.files.get": _FILE,
    "drive.files.list": f"kind,nextPageToken,incompleteSearch,files({_FILE})",
    "drive.files.update": _FILE,
    "drive.permissions.create": _PERMISSION,
    "drive.permissions.get": _PERMISSION,
    "drive.permissions.list": f"kind,nextPageToken,permissions({_PERMISSION})",
    "drive.permissions.update": _PERMISSION,
}


def mask_for(method_id: str, *, fields: str | None, schema: Schema) -> Mask:
    """The mask of a call: its `fields`, or what Drive sends without."""
    if fields is None and method_id == "drive.about.get":
        raise required_parameter("fields", "The 'fields' parameter is required for this method.")
    return parse_mask(fields if fields is not None else DEFAULT_FIELDS.get(method_id, "*"), schema=schema)


def parse_mask(fields: str, *, schema: Schema) -> Mask:
    """The mask that a `fields` parameter describes, held against the schema of the answer."""
    mask = _Parser(fields).mask()
    for unknown in _unknown_in(mask, schema):
        raise invalid_parameter("fields", f"Invalid field selection {unknown}")
    return mask


def chosen(mask: Mask, value: Any) -> Any:
    """The part of an answer that its mask chooses."""
    if not mask or isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, list):
        return [chosen(mask, inner) for inner in value]
    return {name: chosen(_below(mask, name), inner) for name, inner in value.items() if name in mask or "*" in mask}


def _below(mask: Mask, name: str) -> Mask:
    """What is chosen below one field: the wider where `*` and the name both say something."""
    if name in mask and "*" in mask:
        return _union(mask[name], mask["*"])
    return mask.get(name, mask.get("*", EVERYTHING))


def _union(one: Mask, other: Mask) -> Mask:
    """What either chooses."""
    if not one or not other:
        return EVERYTHING
    both = one.keys() & other.keys()
    return {name: _union(one[name], other[name]) if name in both else below for name, below in (one | other).items()}


def _unknown_in(mask: Mask, schema: Schema) -> Iterator[str]:
    """The names that the schema does not have at their places."""
    schema = resolved(schema)
    if schema.get("type") == "array":
        schema = resolved(schema["items"])
    if schema.get("type") == "any":
        return
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, below in mask.items():
        if name == "*" and (properties or others):
            of_all = [*properties.values(), *([others] if others else [])]
            # Below a star a name is right where any of the fields has it.
            if below and not any(not list(_unknown_in(below, each)) for each in of_all):
                yield next(iter(below))
        elif name in properties or others:
            yield from _unknown_in(below, properties.get(name, others))
        else:
            yield name


class _Parser:
    """Reads `fields` from left to right: what is left of it is `tokens`."""

    def __init__(self, fields: str) -> None:
        self.fields = fields
        self.tokens = re.findall(r"[^\s,()/]+|[,()/]", fields)

    def mask(self) -> Mask:
        mask = self._list()
        if self.tokens:
            raise self._invalid()
        return mask

    def _list(self) -> Mask:
        mask = self._path()
        while self._takes(","):
            mask = _union(mask, self._path())
        return mask

    def _path(self) -> Mask:
        if not self.tokens or self.tokens[0] in ",()/":
            raise self._invalid()
        name = self.tokens.pop(0)
        if self._takes("/"):
            return {name: self._path()}
        if self._takes("("):
            below = self._list()
            if not self._takes(")"):
                raise self._invalid()
            return {name: below}
        return {name: EVERYTHING}

    def _takes(self, token: str) -> bool:
        if self.tokens[:1] != [token]:
            return False
        self.tokens.pop(0)
        return True

    def _invalid(self) -> DriveError:
        return invalid_parameter("fields", f"Invalid field selection {self.fields}")
