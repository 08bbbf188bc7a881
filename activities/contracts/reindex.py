"""What travels between `ReindexCorpus`, `RetireBuild` and their activities."""

from activities.contracts.payload import Payload
from headwater.contracts.reindex import ReindexCorpusInput
from headwater.models import Scope


class ReindexOrder(ReindexCorpusInput):
    """The input as the workflow reads it. ``promote``: only give the live build a partition of its own, if it is due."""

    promote: bool = False


class BeginReindex(Payload):
    scope: Scope
    embedder: str | None = None
    chunker: str | None = None
    language: str | None = None
    promote: bool = False
    retire_after_s: int | None = None
    requested_by: str | None = None


class BegunReindex(Payload):
    """``is_live``: readers see that build already, and nothing is to be done."""

    tenant_id: str
    build_id: int
    slab: int = 0
    is_live: bool = False
    generation: int = 0
    sources: int = 0
    chunks: int = 0
    retire_after_s: float


class BuildRef(Payload):
    tenant_id: str
    build_id: int
    requested_by: str | None = None


class ListGreen(BuildRef):
    round_no: int
    hold: bool = False  # publishing waits from here on


class ListedGreen(Payload):
    """The pages from ``first_seq`` to ``last_seq`` are to be filled; none if ``pages`` is 0."""

    first_seq: int = 0
    last_seq: int = -1
    pages: int = 0


class GreenPageRef(BuildRef):
    seq: int


class StagedGreen(Payload):
    """``page_id`` None: there is no such page, or it is published already."""

    page_id: int | None = None
    batches: int = 0


class PublishGreen(BuildRef):
    page_id: int


class PublishedGreen(Payload):
    sources: int = 0
    chunks: int = 0
    failed: int = 0


class FlippedBuild(Payload):
    """``generation`` None: the build is not level with what readers see. ``former`` is the build that they saw before."""

    generation: int | None = None
    former: int | None = None
    sources: int = 0
    chunks: int = 0
    missing: int = 0


class RetireBuildInput(Payload):
    scope: Scope
    build_id: int
    after_s: float


class RetiredBuild(Payload):
    left_s: float = 0.0  # it is kept for so much longer
