"""What travels between `DeleteSources`, `PropagateDeletion` and their activities."""

from pydantic import Field

from activities.contracts.payload import Payload
from headwater.contracts.deletion import Reason
from headwater.models import Authorization, Scope


class DeleteOnce(Payload):
    scope: Scope
    request_no: int
    requested_by: str | None = None
    source_ids: tuple[str, ...]


class Propagate(Payload):
    scope: Scope
    request_no: int
    requested_by: str | None = None
    source_id: str
    authorization: Authorization
    reason: Reason


class Handler(Payload):
    """What removes one kind of derived records: an activity of a host, on a task queue of its own."""

    kind: str
    task_queue: str
    activity: str


class Propagated(Payload):
    """What was hidden, and what is to be done about it. ``held`` are places in ``ids``: of those nothing is removed.

    ``handlers`` are those of the worker that hid it, so that the run stays the same when another worker has others.
    ``layers`` are the counts of those that an earlier run of the request finished.
    """

    ids: tuple[str, ...]
    tombstoned: int
    held: tuple[int, ...] = ()
    handlers: tuple[Handler, ...] = ()
    layers: dict[str, int] = Field(default_factory=dict)


class RemoveRag(Payload):
    scope: Scope
    request_no: int


class RemovedLayer(Payload):
    count: int


class NoteLayer(Payload):
    tenant_id: str
    request_no: int
    kind: str
    count: int
