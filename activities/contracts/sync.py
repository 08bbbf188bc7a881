"""What travels between `SyncCorpus` and its activities, and of pages whoever fills them."""

from pydantic import Field

from activities.contracts.payload import Payload
from headwater.contracts import SyncFailure
from headwater.models import Scope


class BeginPass(Payload):
    scope: Scope
    connector: str
    workflow_id: str
    run_id: str  # first run of the chain: continue-as-new keeps the lease
    begun: int = 1  # which pass of that chain: asked twice, it is begun once
    full: bool = False
    requested_by: str | None = None


class Pass(Payload):
    """One walk over a connector, under a lease. Every later activity names it."""

    connector_id: int
    pass_no: int
    fence: int
    full: bool = False
    tenant_id: str = ""


class BegunPass(Payload):
    in_pass: Pass
    next_seq: int = 1


class ListPage(Payload):
    in_pass: Pass
    seq: int  # position in the pass, from 1
    page_size: int


class ListedPage(Payload):
    page_id: int
    is_last: bool
    items: int = 0
    listed: int = 0
    skipped: int = 0
    known_failed: int = 0


class PageRef(Payload):
    """A page: of a pass, or without one a host's or a re-index's, which says whose tenant's it is."""

    in_pass: Pass | None = None
    page_id: int
    tenant_id: str = ""

    @property
    def fence(self) -> int | None:
        """The fence of the lease that the page stands under; None without a connector."""
        return None if self.in_pass is None else self.in_pass.fence


class PreparedPage(Payload):
    batches: int = 0


class BatchRef(PageRef):
    """One embed batch of a page."""

    batch_no: int


class EmbeddedBatch(Payload):
    embedded: int = 0
    reused: int = 0


class PublishedPage(Payload):
    upserted: int = 0
    deleted: int = 0
    skipped: int = 0
    regranted: int = 0  # of known documents: others may read them than before
    withheld: int = 0
    failed: int = 0
    generation: int = 0
    failures: list[SyncFailure] = Field(default_factory=list)
    is_stale_build: bool = (
        False  # nothing was published: readers see another build by now, which the page is staged for next
    )


class AdvancedCheckpoint(Payload):
    version: int


class EndPass(Payload):
    in_pass: Pass
    paused: bool = False
    error: str | None = None  # one sentence, kept with the connector
    forget_cursor: bool = False  # the origin does not know it any more: the next pass begins at the beginning


class EndedPass(Payload):
    generation: int = 0
    failed: int = 0
    failures: list[SyncFailure] = Field(default_factory=list)
    withheld: dict[str, int] = Field(default_factory=dict)  # all that is withheld now, by the reason
