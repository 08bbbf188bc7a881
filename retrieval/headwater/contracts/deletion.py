"""``DeleteSources`` and ``PropagateDeletion``: a source ends; so does all that was derived from it."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from headwater.contracts.shared import Authorized, Output, RequestInput, SourceId, check_bytes
from headwater.errors import ScopeError
from headwater.models import Scope

SOURCES_MAX: Final = 4_096

Reason = Literal["corrected", "revoked", "forgotten", "legal_hold"]


class DeleteSourcesInput(RequestInput):
    """Input of ``DeleteSources``: the named sources' own rows, grants and status end. What was derived from them stays."""

    source_ids: Annotated[tuple[SourceId, ...], Field(max_length=SOURCES_MAX)]

    @field_validator("source_ids")
    @classmethod
    def _fit(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_bytes("source_ids", sum(len(each) + 3 for each in value))
        return tuple(dict.fromkeys(value))


class DeletedSource(Output):
    source_id: str
    deleted: bool


class DeleteSourcesResult(Output):
    """Output of ``DeleteSources``. ``deleted`` is false where there was nothing."""

    sources: tuple[DeletedSource, ...] = ()
    generation: int = 0


class PropagateDeletionInput(RequestInput):
    """Input of ``PropagateDeletion``: the source and, along lineage, all that rests on it is hidden at once.

    Without a grant for the source only a service principal of the workers may ask.
    """

    source_id: SourceId
    authorization: Authorized
    reason: Reason = "forgotten"

    @model_validator(mode="after")
    def _is_of_the_tenant(self) -> Self:
        check_tenant(self.authorization.tenant_id, self.scope.tenant_id)
        return self


def check_tenant(asserted: str, owned: str) -> None:
    """Raises a `ScopeError` when an authorization speaks for another tenant than the corpus's."""
    if asserted != owned:
        raise ScopeError(
            f"authorization is of tenant {asserted}, and the corpus is tenant {owned}'s: ask in its own name"
        )


class LayerInput(Output):
    """What a host's deletion handler is given: an activity that removes its own records of ``ids``, and counts them.

    It may be called more than once with the same. With reason ``legal_hold`` nothing may be removed, only hidden.
    """

    scope: Scope
    source_id: str
    ids: tuple[str, ...]
    reason: Reason


class PropagateDeletionResult(Output):
    """Output of ``PropagateDeletion``: the ids that are hidden, the root first, and what each layer removed."""

    source_id: str
    ids: tuple[str, ...]
    tombstoned: int
    layers: dict[str, int] = Field(default_factory=dict)
    batched: bool = True
