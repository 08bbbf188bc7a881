"""What the inputs of several workflows have in common."""

import json
import math
import re
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

import pydantic
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
)

from headwater.errors import HeadwaterError, LimitError, ScopeError, ValidationError
from headwater.ids import SCOPE_PART, SOURCE_ID, UNSTORABLE, check_scope_part, check_source_id, schema_pattern
from headwater.models import Authorization, Scope

Model = TypeVar("Model", bound=BaseModel)

PAYLOAD_BYTES: Final = 1_500_000  # of one list in an input: Temporal carries 2 MB, and its own words need room
RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)\Z")


def _known_fields(model: type[BaseModel]) -> BeforeValidator:
    """Lets objects through that say more than ``model`` knows, as the inputs of workflows do everywhere."""

    def drop(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: part for name, part in value.items() if name in model.model_fields}

    return BeforeValidator(drop)


def _instant(value: Any) -> Any:
    if isinstance(value, str):
        if RFC3339.match(value):
            return value
    elif isinstance(value, datetime) and value.tzinfo is not None:
        return value
    raise ValidationError("must be a time as RFC 3339 writes it, with an offset: 2026-01-31T12:00:00Z")


def _name(value: str) -> str:
    if not 1 <= len(value) <= 256 or UNSTORABLE.search(value):
        raise ValidationError("must be 1 to 256 characters without NUL or lone surrogates")
    return value


def as_pattern(pattern: re.Pattern[str]) -> WithJsonSchema:
    """What a schema says of a string whose check says more when it fails."""
    return WithJsonSchema({"type": "string", "pattern": schema_pattern(pattern)})


InScope = Annotated[Scope, _known_fields(Scope)]
Authorized = Annotated[Authorization, _known_fields(Authorization)]
Instant = Annotated[AwareDatetime, BeforeValidator(_instant)]
SourceId = Annotated[str, AfterValidator(check_source_id), as_pattern(SOURCE_ID)]
Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 256})]
ConnectorName = Annotated[
    str, AfterValidator(lambda value: check_scope_part(value, "connector")), as_pattern(SCOPE_PART)
]
RequestId = Annotated[str, AfterValidator(lambda value: check_scope_part(value, "request_id")), as_pattern(SCOPE_PART)]


class WorkflowInput(BaseModel):
    """What every input of a public workflow holds. Unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    scope: InScope
    requested_by: Annotated[str, Field(max_length=256)] | None = None  # kept in the audit table


class RequestInput(WorkflowInput):
    """An input that is carried out once for each ``request_id``, however often it is sent."""

    request_id: RequestId


class Output(BaseModel):
    """What a workflow or a query answers with: all fields, always. Fields are only ever added."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True, json_schema_serialization_defaults_required=True
    )


class Conflict(Output):
    """Why nothing was written: the store holds ``actual`` where ``expected`` was asked for."""

    expected: int
    actual: int


def check_bytes(field: str, size: int, most: int = PAYLOAD_BYTES) -> None:
    """Raises a `LimitError` when ``size`` bytes are too many for one input."""
    if size > most:
        raise LimitError(f"{field} holds {size:,} bytes: at most {most:,} fit one request; send it in several.")


def is_storable(value: JsonValue) -> bool:
    """Whether Postgres can hold ``value``: no text in it has NUL or a lone surrogate, and no number is without end."""
    if isinstance(value, float):
        return math.isfinite(value)  # Python's JSON knows NaN and Infinity, and nobody else's does
    if isinstance(value, str):
        return UNSTORABLE.search(value) is None
    if isinstance(value, list):
        return all(map(is_storable, value))
    if isinstance(value, dict):
        return all(map(is_storable, value)) and all(map(is_storable, value.values()))
    return True


def json_bytes(value: JsonValue) -> int:
    """How many bytes ``value`` takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def first_fault(error: pydantic.ValidationError) -> HeadwaterError:
    """What is wrong with an input, as an error of ours: the first fault and its place, without the value."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    why = fault["msg"].removeprefix("Value error, ").rstrip(".")
    raised = fault.get("ctx", {}).get("error")
    kind = type(raised) if isinstance(raised, LimitError | ScopeError) else ValidationError
    return kind(f"{where}: {why}." if where else f"{why[:1].upper()}{why[1:]}.")
