"""What travels between `SyncCorpus` and its activities: ids and counts. Text and vectors stay in Postgres."""

from pydantic import BaseModel, ConfigDict, Field

from headwater.contracts import SyncFailure
from headwater.models import Scope


class Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class BeginPass(Payload):
    scope: Scope
    connector: str
    workflow_id: str
    run_id: str                     # first run of the chain: continue-as-new keeps the lease
    full: bool = False
    requested_by: str | None = None


class Pass(Payload):
    """One walk over a connector, under a lease. Every later activity names it."""

    connector_id: int
    pass_no: int
    fence: int
    full: bool = False


class ListPage(Payload):
    in_pass: Pass
    seq: int                        # from 1
    page_size: int


class ListedPage(Payload):
    page_id: int
    is_last: bool
    items: int = 0
    listed: int = 0
    skipped: int = 0
    known_failed: int = 0


class PageRef(Payload):
    in_pass: Pass
    page_id: int


class PreparedPage(Payload):
    page_id: int
    batches: int = 0


class BatchRef(Payload):
    in_pass: Pass
    page_id: int
    batch_no: int


class EmbeddedBatch(Payload):
    embedded: int = 0
    reused: int = 0


class PublishedPage(Payload):
    upserted: int = 0
    deleted: int = 0
    skipped: int = 0
    withheld: int = 0
    failed: int = 0
    generation: int = 0
    failures: list[SyncFailure] = Field(default_factory=list)


class EndPass(Payload):
    in_pass: Pass
    error: str | None = None        # one sentence, kept with the connector
