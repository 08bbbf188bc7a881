"""What makes a host's request be carried out once."""

from typing import Any

from activities.contracts.payload import Payload
from headwater.models import Scope


class BeginRequest(Payload):
    scope: Scope
    workflow: str
    request_id: str
    payload_sha256: str
    workflow_id: str
    run_id: str
    makes_corpus: bool = False  # a corpus that is not there is made, and not an error


class BegunRequest(Payload):
    """``result`` of a request that was finished before; else it is to be carried out, under ``request_no``."""

    request_no: int
    result: dict[str, Any] | None = None


class EndRequest(Payload):
    """``result`` None: the request failed, and whoever asks again carries it out."""

    tenant_id: str
    request_no: int
    result: dict[str, Any] | None = None
