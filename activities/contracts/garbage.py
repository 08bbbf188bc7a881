"""What travels between `CollectGarbage`, `CollectTick` and their activities."""

from pydantic import Field

from activities.contracts.payload import Payload
from headwater.contracts import CollectGarbageResult
from headwater.models import Scope


class CollectPage(Payload):
    """``step`` None: from the beginning. The limits None: the worker's."""

    scope: Scope
    step: str | None = None
    keep_generations: int | None = None
    older_than_s: int | None = None
    requested_by: str | None = None


class CollectedPage(Payload):
    """What was freed, and the step to go on with; None when nothing is left."""

    freed: CollectGarbageResult = CollectGarbageResult()
    step: str | None = None


class ListScopes(Payload):
    """Corpora of a tenant, or of all (empty), after one of them."""

    tenant_id: str = ""
    after: Scope | None = None
    limit: int = 100


class ListedScopes(Payload):
    scopes: list[Scope] = Field(default_factory=list)
    is_last: bool = True


class CollectTickInput(Payload):
    """``tenants`` empty: all."""

    tenants: list[str] = Field(default_factory=list)


class CollectTickResult(Payload):
    """How many corpora were collected, were being collected already, failed; and how many outgrew their partition."""

    collected: int = 0
    busy: int = 0
    failed: int = 0
    promoted: int = 0
