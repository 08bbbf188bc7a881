"""``RepointSource`` and ``RenameSources``: a source goes on under another id, with its text, vectors and history."""

from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from headwater.contracts.deletion import check_tenant
from headwater.contracts.ingest import CONNECTORS_PREFIXES
from headwater.contracts.shared import Authorized, Output, RequestInput, SourceId, check_bytes, json_bytes
from headwater.errors import ValidationError
from headwater.ids import SOURCE_ID, schema_pattern
from headwater.models import Scope

RECORDS_MAX: Final = 4_096  # of one page
RENAMES_MAX: Final = 4_096
CURSOR_MAX: Final = 4_096


def _not_a_connectors(value: str) -> str:
    if value.startswith(CONNECTORS_PREFIXES):
        raise ValidationError(
            f"{value[:80]!r} begins like a connector's id, which follows its origin: move the document there, then sync"
        )
    return value


def _of_no_connector(value: str) -> str:
    """A prefix is refused when an id that begins with it could begin with a connector's."""
    for each in CONNECTORS_PREFIXES:
        if value.startswith(each) or each.startswith(value):
            raise ValidationError(
                f"ids that begin with {value[:80]!r} may be a connector's ({each}), which follow their origin: "
                "choose a prefix that tells them apart"
            )
    return value


class Renamed(BaseModel):
    """A pair of ids. Those of connectors follow their origin: a move would be undone by the next sync."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, populate_by_name=True)

    from_id: Annotated[SourceId, AfterValidator(_not_a_connectors), Field(alias="from")]
    to_id: Annotated[SourceId, AfterValidator(_not_a_connectors), Field(alias="to")]

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.from_id == self.to_id:
            raise ValidationError(f"from and to are both {self.from_id}: nothing would move")
        return self


Prefix = Annotated[str, Field(pattern=schema_pattern(SOURCE_ID)), AfterValidator(_of_no_connector)]


class RenamedPrefix(BaseModel):
    """All sources whose id begins with ``from`` go on under ``to`` and the rest of their id."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, populate_by_name=True)

    from_prefix: Annotated[Prefix, Field(alias="from")]
    to_prefix: Annotated[Prefix, Field(alias="to")]

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.from_prefix.startswith(self.to_prefix) or self.to_prefix.startswith(self.from_prefix):
            raise ValidationError(
                f"prefixes {self.from_prefix} and {self.to_prefix} overlap: a moved id could move again"
            )
        return self


class RepointSourceInput(RequestInput, Renamed):
    """Input of ``RepointSource``: one page of at most ``page_size`` records. ``cursor`` goes on where a page ended."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    authorization: Authorized
    page_size: Annotated[int, Field(ge=1, le=RECORDS_MAX, strict=True)] = RECORDS_MAX
    max_records: Annotated[int, Field(ge=1, strict=True)] | None = None
    cursor: Annotated[str, Field(max_length=CURSOR_MAX)] | None = None

    @model_validator(mode="after")
    def _is_of_the_tenant(self) -> Self:
        check_tenant(self.authorization.tenant_id, self.scope.tenant_id)
        return self


class RepointResult(Output):
    """Output of ``RepointSource``. ``cursor`` is there while edges are left. ``moved_chunks`` counts all chunks of the source:
    they follow its one row."""

    from_id: Annotated[str, Field(alias="from")]
    to_id: Annotated[str, Field(alias="to")]
    moved_sources: int = 0
    moved_chunks: int = 0
    rewritten_edges: int = 0
    layers: dict[str, int] = Field(default_factory=dict)
    batched: bool = True
    cursor: str | None = None


class MoveLayerInput(Output):
    """What a host's move handler is given: an activity that renames in its own records, and counts those that it changed.

    With ``is_prefix`` the ids are prefixes, and ids after ``after`` (if there is one) up to ``until`` have moved. It may be called
    more than once with the same, and is called once at least for each move, also if Headwater itself held nothing.
    """

    scope: Scope
    from_id: Annotated[str, Field(alias="from")]
    to_id: Annotated[str, Field(alias="to")]
    is_prefix: bool = False
    after: str | None = None
    until: str | None = None


class RenameSourcesInput(RequestInput):
    """Input of ``RenameSources``: pairs, or one prefix. No id may stand in two pairs, on either side."""

    renames: Annotated[tuple[Renamed, ...], Field(max_length=RENAMES_MAX)] | None = None
    prefix: RenamedPrefix | None = None
    authorization: Authorized
    continue_on_error: bool = False

    @model_validator(mode="before")
    @classmethod
    def _is_small(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("renames"), list):
            check_bytes("renames", json_bytes(value["renames"]))
        return value

    @model_validator(mode="after")
    def _is_one_set(self) -> Self:
        check_tenant(self.authorization.tenant_id, self.scope.tenant_id)
        if (self.renames is None) == (self.prefix is None):
            raise ValidationError("must have either renames or prefix")
        claimed: set[str] = set()
        for pair in self.renames or ():
            for each in (pair.from_id, pair.to_id):
                if each in claimed:
                    raise ValidationError(f"renames name {each} twice: pairs must not meet")
                claimed.add(each)
        return self


class FailedRename(Output):
    from_id: Annotated[str, Field(alias="from")]
    to_id: Annotated[str, Field(alias="to")]
    error: str
    code: str


class RenameSourcesResult(Output):
    """Output of ``RenameSources``: pages folded, one entry a pair (for a prefix one in all), and at most 100 failures."""

    results: tuple[RepointResult, ...] = ()
    failures: tuple[FailedRename, ...] = ()
    failed: int = 0
