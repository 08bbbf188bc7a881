"""What travels between `RemoveConnector`, `TryConnector` and their activities."""

from typing import Literal

from pydantic import Field

from activities.contracts.payload import Payload
from activities.contracts.sync import Pass
from headwater.contracts import WorkflowInput
from headwater.contracts.shared import ConnectorName
from headwater.models import Scope


class RemoveConnectorInput(WorkflowInput):
    """``sources``: whether the documents that it alone holds stay, as stale, or are deleted."""

    connector: ConnectorName
    sources: Literal["keep", "delete"]


class RemovedConnector(Payload):
    """How many documents were kept, and how many were deleted. ``had_schedule``: one that ended with the connector."""

    kept: int = 0
    deleted: int = 0
    had_schedule: bool = False


class KeepSources(Payload):
    """Documents that a connector leaves behind: those after one of them."""

    in_pass: Pass
    after: int = 0


class KeptSources(Payload):
    """The last document of a page; None when all are done."""

    after: int | None = None


class DropConnector(Payload):
    in_pass: Pass
    deleted: int = 0
    requested_by: str | None = None


class RemoveSchedule(Payload):
    scope: Scope
    connector: ConnectorName


class RemovedSchedule(Payload):
    existed: bool


class TryConnectorInput(WorkflowInput):
    connector: ConnectorName


class UnlistedPart(Payload):
    path: str
    reason: str


class TriedConnector(Payload):
    """What a connector lists to begin with. ``withheld`` of these nobody may find, by the reason. ``is_all``: there is no more.

    ``account``: as whom its origin is asked, if that is known.
    """

    kind: str
    account: str | None = None
    listed: int = 0
    withheld: dict[str, int] = Field(default_factory=dict)
    is_all: bool = False
    unlisted: list[UnlistedPart] = Field(default_factory=list)
