"""Requests of hosts: carried out once, whatever the workflow id they come under, and answered alike ever after.

A part of a request notes what it did in the transaction that does it, so that a repeated attempt finds the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from activities.store.database import Store
from activities.store.scopes import no_corpus
from activities.store.sql import queries
from headwater.errors import TransientError, ValidationError
from headwater.models import Scope


class InvalidInput(ValidationError):
    """A request says something that cannot be carried out; nothing was written."""


class RequestRunning(TransientError):
    """Another workflow is carrying the request out: its answer is awaited."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The workflow that carries a request out; ``run_id`` is the first run of its chain."""

    workflow_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Request:
    request_no: int
    payload_sha256: bytes
    result: Mapping[str, Any] | None
    workflow_id: str | None
    run_id: str | None

    @property
    def owner(self) -> Owner | None:
        return None if self.workflow_id is None or self.run_id is None else Owner(self.workflow_id, self.run_id)


def claim_request(
    store: Store,
    scope: Scope,
    *,
    workflow: str,
    request_id: str,
    payload_sha256: bytes,
    owner: Owner,
    makes_corpus: bool = False,
) -> Request:
    """The request: new and ``owner``'s, or as it stands. `InvalidInput` if it was sent before with another payload.

    With ``makes_corpus`` a corpus that is not there gets its row: a first push names it before it has an index.
    """
    sql = queries(store.schema, "requests")
    key = {**scope.model_dump(), "workflow": workflow, "request_id": request_id}
    mine = {"payload_sha256": payload_sha256, "workflow_id": owner.workflow_id, "run_id": owner.run_id}
    with store.connection() as connection, connection.transaction():
        if makes_corpus:
            connection.execute(queries(store.schema, "scopes")["ensure_scope"], scope.model_dump())
        connection.execute(sql["claim"], {**key, **mine})
        found = connection.cursor(row_factory=class_row(Request)).execute(sql["find"], key).fetchone()
    if found is None:
        raise no_corpus(scope)
    if found.payload_sha256 != payload_sha256:
        raise InvalidInput(
            f"request_id {request_id} was used for another {workflow} of this corpus: choose a new one, or send the same again."
        )
    return found


def take_over(store: Store, request: Request, owner: Owner) -> bool:
    """Whether ``owner`` carries the request out from now on, in place of one that is gone."""
    params = {"request_no": request.request_no, "workflow_id": owner.workflow_id, "run_id": owner.run_id}
    before = {"old_workflow_id": request.workflow_id, "old_run_id": request.run_id}
    with store.connection() as connection:
        return connection.execute(queries(store.schema, "requests")["take_over"], {**params, **before}).rowcount == 1


def finish_request(store: Store, request_no: int, result: Mapping[str, Any]) -> None:
    """Keeps the answer. A repeat changes nothing."""
    with store.connection() as connection:
        params = {"request_no": request_no, "result": Jsonb(dict(result))}
        connection.execute(queries(store.schema, "requests")["finish"], params)


def release_request(store: Store, request_no: int) -> None:
    """The request failed: forgotten if it did nothing, else kept for whoever sends it again."""
    sql = queries(store.schema, "requests")
    with store.connection() as connection, connection.transaction():
        connection.execute(sql["forget_idle"], {"request_no": request_no})
        connection.execute(sql["release"], {"request_no": request_no})


def step_result(connection: Connection, schema: str, request_no: int, step: str) -> Any | None:
    """What ``step`` of the request did, if an earlier attempt carried it out. Asked under the lock it works under."""
    found = connection.execute(queries(schema, "requests")["step"], {"request_no": request_no, "step": step}).fetchone()
    return None if found is None else found[0]


def note_step(connection: Connection, schema: str, request_no: int, step: str, result: Any) -> None:
    """Keeps what ``step`` did, in the transaction that does it."""
    params = {"request_no": request_no, "step": step, "result": Jsonb(result)}
    connection.execute(queries(schema, "requests")["note_step"], params)


def audit(
    connection: Connection, schema: str, scope_id: int, *, actor: str | None, action: str, detail: Mapping[str, Any]
) -> None:
    """Writes down who did what: ids and counts, never text."""
    params = {"scope_id": scope_id, "actor": actor, "action": action, "detail": Jsonb(dict(detail))}
    connection.execute(queries(schema, "requests")["audit"], params)
