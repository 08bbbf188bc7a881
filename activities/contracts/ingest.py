"""What travels between `IngestSources` and its activities. Only `AcceptIngest` holds what the host sent."""

from activities.contracts.payload import Payload
from activities.contracts.sync import PageRef
from headwater.contracts import IngestSource
from headwater.models import Scope


class AcceptIngest(Payload):
    scope: Scope
    request_no: int
    requested_by: str | None = None
    sources: tuple[IngestSource, ...]


class AcceptedIngest(Payload):
    page_id: int


class EndIngest(PageRef):
    """The page, and the generation that readers see with it."""

    generation: int
