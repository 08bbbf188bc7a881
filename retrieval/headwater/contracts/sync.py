"""``SyncCorpus``: a corpus is brought up to date with one connector."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from headwater.contracts.shared import Output, WorkflowInput, as_pattern
from headwater.ids import SCOPE_PART, check_scope_part


class SyncCorpusInput(WorkflowInput):
    """Input of ``SyncCorpus``."""

    connector: Annotated[str, AfterValidator(lambda name: check_scope_part(name, "connector")), as_pattern(SCOPE_PART)]
    full: bool = False
    max_pages: Annotated[int, Field(ge=1, le=64)] | None = None
    page_size: Annotated[int, Field(ge=1, le=200)] = 100
    # Where the connector's origin does not know its cursor any more: list everything anew, once a pass, or fail and leave it.
    on_invalid_cursor: Literal["resync", "fail"] = "resync"


class SyncFailure(Output):
    source_id: str
    state: str
    reason: str | None = None


class SyncResult(Output):
    """Output of ``SyncCorpus``, and what ``headwater sync --json`` prints.

    ``withheld`` counts changes. ``withheld_reasons`` says of all documents that are withheld now how many are for each reason.
    """

    corpus: str
    connector: str
    pages: int = 0
    upserted: int = 0
    deleted: int = 0
    skipped: int = 0
    regranted: int = 0  # known documents that others may read than before
    withheld: int = 0
    failed: int = 0
    embedded_chunks: int = 0
    reused_chunks: int = 0
    exhausted: bool = True
    generation: int = 0
    failures: list[SyncFailure] = Field(default_factory=list)
    withheld_reasons: dict[str, int] = Field(default_factory=dict)


class SyncStatus(BaseModel):
    """Answer of the query ``status``: where a running sync is."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    phase: Literal["waiting", "listing", "preparing", "embedding", "publishing", "done"] = "waiting"
    pass_no: int = 0
    pages: int = 0
    listed: int = 0
    upserted: int = 0
    deleted: int = 0
    skipped: int = 0
    regranted: int = 0  # known documents that others may read than before
    withheld: int = 0
    failed: int = 0
    embedded_chunks: int = 0
    reused_chunks: int = 0


class SyncNowInput(BaseModel):
    """What the update ``sync_now`` takes. ``ticket`` is the one of an answer without a result; ``full`` reads everything."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ticket: Annotated[int, Field(ge=1, strict=True)] | None = None
    full: Annotated[bool, Field(strict=True)] = False


class SyncNow(Output):
    """Answer of the update ``sync_now``: the result of a pass that began after it was asked for.

    ``result`` is ``None`` when the workflow went on in a new run meanwhile: ask again with the ``ticket``.
    """

    ticket: int
    result: SyncResult | None = None
