"""``SetSourceAccess``: who may read a source, replaced as a whole."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from headwater.contracts.shared import Conflict, Instant, Name, Output, RequestInput, SourceId, check_bytes, json_bytes
from headwater.errors import ValidationError
from headwater.models import ACCESS_VERSION_END, GROUPS_MAX

SOURCES_MAX: Final = 1_024  # of one request
PRINCIPALS_MAX: Final = 1_024  # of one source
GRANTEES: Final = frozenset({"principal_ids", "group_ids", "everyone", "expiring"})


class ExpiringGrant(BaseModel):
    """One grant that ends by itself."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    principal_id: Name | None = None
    group_id: Name | None = None
    expires_at: Instant

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.principal_id is None) == (self.group_id is None):
            raise ValidationError("must name either a principal_id or a group_id")
        return self


class Grants(BaseModel):
    """All who may read a source. Empty: nobody. A set replaces one of a lower ``access_version``, and no other.

    ``everyone`` stands for all principals of the tenant. After ``expires_at`` nobody of the set may read any more.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    principal_ids: tuple[Name, ...] = ()
    group_ids: tuple[Name, ...] = ()
    everyone: bool = False
    access_version: Annotated[int, Field(ge=1, lt=ACCESS_VERSION_END, strict=True)]
    expires_at: Instant | None = None
    expiring: tuple[ExpiringGrant, ...] = ()

    @property
    def is_too_wide(self) -> bool:
        """More grantees than a source may have: such a set is denied, and its source keeps the one it has."""
        principals = {*self.principal_ids, *(each.principal_id for each in self.expiring if each.principal_id)}
        groups = {*self.group_ids, *(each.group_id for each in self.expiring if each.group_id)}
        return len(principals) > PRINCIPALS_MAX or len(groups) > GROUPS_MAX


def check_says_who(where: str, grants: object) -> None:
    """Raises when raw ``grants`` name no field of grantees: ignoring one that is misspelt would revoke everything."""
    if isinstance(grants, Mapping) and not GRANTEES & grants.keys():
        raise ValidationError(
            f"{where} says nobody: give principal_ids, group_ids, everyone or expiring, which may be empty to revoke"
        )


class SourceGrants(Grants):
    """The grants that a source is to have."""

    source_id: SourceId


class SetSourceAccessInput(RequestInput):
    """Input of ``SetSourceAccess``. A source that was never heard of gets a row that holds its grants."""

    grants: Annotated[tuple[SourceGrants, ...], Field(max_length=SOURCES_MAX)]

    @model_validator(mode="before")
    @classmethod
    def _is_small(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and isinstance(value.get("grants"), list):
            check_bytes("grants", json_bytes(value["grants"]))
            for number, each in enumerate(value["grants"]):
                check_says_who(f"grants.{number}", each)
        return value

    @model_validator(mode="after")
    def _names_each_source_once(self) -> Self:
        named: set[str] = set()
        for each in self.grants:
            if each.source_id in named:
                raise ValidationError(f"grants name {each.source_id} twice: a source has one set of grants")
            named.add(each.source_id)
        return self


class AccessOutcome(Output):
    """What became of one source's grants. ``conflict`` holds access versions; ``access_version`` is the stored one."""

    source_id: str
    outcome: Literal["set", "unchanged", "conflict", "denied"]
    access_version: int
    reason: str | None = None
    conflict: Conflict | None = None


class SetSourceAccessResult(Output):
    """Output of ``SetSourceAccess``: one outcome for each source, in the order of the input."""

    sources: tuple[AccessOutcome, ...] = ()
