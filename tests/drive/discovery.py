"""Drive's own description of itself, which the client library ships: what may be asked, and what an answer may hold.

The emulator takes its routes, its parameters and its schemas from here, so that it cannot grow a Drive of its own: a
parameter that Google does not know is refused, and an answer with a field that Google does not send is a fault of ours.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from tests.drive.error_json import invalid_parameter, required_parameter

Schema: TypeAlias = Mapping[str, Any]
Value: TypeAlias = str | int | bool

SERVICE_PATH: Final = "/drive/v3/"
UPLOAD_PATH: Final = "/upload/drive/v3/"


@dataclass(frozen=True)
class Method:
    """One method of the API."""

    id: str
    """As the discovery document names it: `drive.files.list`."""

    verb: str
    path: str
    """Below the service's path, with its placeholders: `files/{fileId}`."""

    parameters: Mapping[str, Schema]
    """The method's own and those that every method takes."""

    request: Schema | None
    response: Schema | None
    scopes: frozenset[str]
    """Any of these will do."""

    is_download: bool
    is_upload: bool


@cache
def document() -> Schema:
    """The discovery document of Drive v3 that the installed client brings."""
    bundled = files("googleapiclient.discovery_cache").joinpath("documents/drive.v3.json")
    return json.loads(bundled.read_text("utf-8"))  # type: ignore[no-any-return]  # JSON has no types


@cache
def methods() -> Mapping[str, Method]:
    """All methods by their id."""
    return {method.id: method for method in _methods_in(document())}


def _methods_in(resource: Schema) -> Iterator[Method]:
    for described in resource.get("methods", {}).values():
        yield Method(
            id=described["id"],
            verb=described["httpMethod"],
            path=described["path"],
            parameters={**document()["parameters"], **described.get("parameters", {})},
            request=described.get("request"),
            response=described.get("response"),
            scopes=frozenset(described["scopes"]),
            is_download=described.get("supportsMediaDownload", False),
            is_upload=described.get("supportsMediaUpload", False),
        )
    for inner in resource.get("resources", {}).values():
        yield from _methods_in(inner)


def parameters_of(method: Method, *, path: Mapping[str, str], query: list[tuple[str, str]]) -> dict[str, Value]:
    """The typed values of a call's parameters, with Google's defaults; a call that Google would refuse is refused."""
    given: dict[str, Value] = {}
    for name, raw in [*path.items(), *query]:
        described = method.parameters.get(name)
        if described is None or described["location"] != ("path" if name in path else "query"):
            raise invalid_parameter(name, f"Unknown name {name!r}: {method.id} has no such parameter.")
        if name in given:
            raise invalid_parameter(name, f"{name!r} may be given once.")
        given[name] = _value(name, raw, described)
    for name, described in method.parameters.items():
        if name in given:
            continue
        if described.get("required"):
            raise required_parameter(name, f"Required parameter: {name}")
        if "default" in described:
            given[name] = _value(name, described["default"], described)
    return given


def _value(name: str, raw: str, described: Schema) -> Value:
    """One parameter as its declared type, within its bounds."""
    if described["type"] == "boolean":
        if raw not in ("true", "false"):
            raise invalid_parameter(name, f"Invalid boolean value: {raw!r}.")
        return raw == "true"
    if described["type"] == "integer":
        if not re.fullmatch(r"-?[0-9]{1,10}", raw):
            raise invalid_parameter(name, f"Invalid integer value: {raw!r}.")
        return _within_bounds(name, int(raw), described)
    if raw not in described.get("enum", [raw]):
        raise invalid_parameter(name, f"Invalid value {raw!r}. Allowed values: {described['enum']}")
    return raw


def _within_bounds(name: str, number: int, described: Schema) -> int:
    """Drive refuses numbers that are too small and, as its descriptions say, brings down those that are too large."""
    least, most = int(described.get("minimum", number)), int(described.get("maximum", number))
    if number < least:
        raise invalid_parameter(name, f"Invalid value '{number}'. Values must be within the range: [{least}, {most}]")
    return min(number, most)


def resolved(schema: Schema) -> Schema:
    """The schema that a reference stands for; any other is itself."""
    return document()["schemas"][schema["$ref"]] if "$ref" in schema else schema


def violations(value: object, schema: Schema, *, at: str = "") -> Iterator[str]:
    """What in a JSON value the schema does not allow. A field may be missing: Google's schemas require none."""
    schema = resolved(schema)
    expected = schema.get("type", "object")
    if not _has_type(value, schema):
        yield f"{at or 'the whole'}: {type(value).__name__} where {schema.get('format') or expected} belongs"
    elif isinstance(value, dict):
        for name, inner in value.items():
            known = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if known is None:
                yield f"{at}/{name}: no such field"
            else:
                yield from violations(inner, known, at=f"{at}/{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from violations(inner, schema["items"], at=f"{at}/{place}")


# What the formats of a string look like on the wire. Sizes and versions are strings, since JavaScript rounds them.
_FORMATS: Final = {
    "int64": re.compile(r"-?[0-9]{1,19}"),
    "date-time": re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
    ),
}


def _has_type(value: object, schema: Schema) -> bool:
    match schema.get("type", "object"):
        case "any":
            return True
        case "string":
            pattern = _FORMATS.get(schema.get("format", ""))
            return isinstance(value, str) and (pattern is None or pattern.fullmatch(value) is not None)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)
