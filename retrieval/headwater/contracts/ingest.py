"""``IngestSources``: documents that a host pushes, published together as one page."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from headwater.contracts.access import Grants, check_says_who
from headwater.contracts.shared import Conflict, Output, RequestInput, SourceId, check_bytes, is_storable, json_bytes
from headwater.errors import LimitError, ValidationError
from headwater.ids import UNSTORABLE, check_source_id

SOURCES_MAX: Final = 200
TEXT_BYTES: Final = 64 * 1024  # of one inline text, in UTF-8
TEXTS_BYTES: Final = 512 * 1024  # of all of them
METADATA_BYTES: Final = 64 * 1024
PARENTS_MAX: Final = 256
CONNECTORS_PREFIXES: Final = ("folder:", "drive:")
CHUNK_NUMBER: Final = re.compile(r"[0-9]{4,10}\Z")


def check_own(source_id: str) -> str:
    """``source_id`` unchanged, if its prefix is no connector's."""
    if source_id.startswith(CONNECTORS_PREFIXES):
        raise ValidationError(f"{source_id[:80]!r} begins like a connector's id: choose another prefix")
    return source_id


def _parent(value: str) -> str:
    source_id, _, number = value.partition("#")
    check_source_id(source_id, "lineage")
    if "#" in value and not CHUNK_NUMBER.match(number):
        raise ValidationError(f"{value[:80]!r} is neither a source id nor a chunk id such as doc#0001")
    return value


def _hash(value: str) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f]{32,128}", value):
        raise ValidationError("must be 32 to 128 hexadecimal digits")
    return value.lower()


def _storable(value: str) -> str:
    if UNSTORABLE.search(value):
        raise ValidationError("must hold neither NUL nor lone surrogates")
    return value


Storable = AfterValidator(_storable)


class IngestSource(BaseModel):
    """One document: ``text``, or content that was ``staged`` before. What is absent is as for a document without it.

    ``grants`` absent: those of a known source stay, and nobody may read a new one. ``lineage`` names the sources or chunks that
    it was derived from. ``uri`` is a label that citations show; nothing is fetched from it. ``expected_revision`` publishes
    only over that revision, 0 only a new source. Equal ``content_hash`` (the host's own) means unchanged, unread.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    source_id: Annotated[SourceId, AfterValidator(check_own)]
    text: Annotated[str, Storable] | None = None
    staged: UUID | None = None
    media_type: Annotated[str, Field(min_length=1, max_length=256), Storable] | None = None
    title: Annotated[str, Field(max_length=1_024), Storable] | None = None
    uri: Annotated[str, Field(max_length=2_048), Storable] | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    grants: Grants | None = None
    sensitivity: Annotated[str, Field(max_length=64)] | None = None
    lineage: Annotated[tuple[Annotated[str, AfterValidator(_parent)], ...], Field(max_length=PARENTS_MAX)] = ()
    expected_revision: Annotated[int, Field(ge=0, lt=2**31, strict=True)] | None = None
    content_hash: Annotated[str, AfterValidator(_hash)] | None = None

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.text is None) == (self.staged is None):
            raise ValidationError("must have either text or staged")
        if self.text is not None and len(self.text.encode("utf-8")) > TEXT_BYTES:
            raise LimitError(
                f"text of {self.source_id} has more than {TEXT_BYTES:,} bytes: stage it and name it in staged"
            )
        if not is_storable(self.metadata):
            raise ValidationError("metadata must hold neither NUL nor lone surrogates, nor numbers that are none")
        check_bytes("metadata", json_bytes(self.metadata), METADATA_BYTES)
        return self


class IngestSourcesInput(RequestInput):
    """Input of ``IngestSources``: at most 200 sources, which readers see together or not at all."""

    sources: Annotated[tuple[IngestSource, ...], Field(max_length=SOURCES_MAX)]

    @model_validator(mode="before")
    @classmethod
    def _is_small(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and isinstance(value.get("sources"), list):
            check_bytes("sources", json_bytes(value["sources"]))
            for number, each in enumerate(value["sources"]):
                if isinstance(each, Mapping):
                    check_says_who(f"sources.{number}.grants", each.get("grants"))
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        named: set[str] = set()
        for each in self.sources:
            if each.source_id in named:
                raise ValidationError(f"sources name {each.source_id} twice: a page says one thing about a source")
            named.add(each.source_id)
        texts = sum(len(each.text.encode()) for each in self.sources if each.text is not None)
        check_bytes("text of all sources", texts, TEXTS_BYTES)
        return self


class IngestOutcome(Output):
    """What became of one source. ``indexed`` chunks are new, ``deleted`` ones were replaced; ``conflict`` holds revisions."""

    source_id: str
    revision: int
    indexed: int = 0
    deleted: int = 0
    skipped: bool = False
    state: str
    reason: str | None = None
    conflict: Conflict | None = None


class IngestSourcesResult(Output):
    """Output of ``IngestSources``, in the order of the input."""

    sources: tuple[IngestOutcome, ...] = ()
    generation: int = 0
