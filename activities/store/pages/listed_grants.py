"""A connector's grants on their way through a page: what is kept of them, and what is read back when it is published."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headwater.connectors import GrantSet
from headwater.contracts import Grants
from headwater.contracts.access import ExpiringGrant


def kept_grants(grants: GrantSet | None) -> dict[str, Any]:
    """``grants`` as a page keeps them. A connector that cannot say who may read lets nobody read."""
    grants = grants or GrantSet()
    kept: dict[str, Any] = {
        "principal_ids": list(grants.principal_ids),
        "group_ids": list(grants.group_ids),
        "everyone": grants.everyone,
    }
    if grants.expiring:
        kept["expiring"] = [
            {f"{each.kind}_id": each.name, "expires_at": each.expires_at.astimezone(UTC).isoformat()}
            for each in grants.expiring
        ]
    if grants.withheld is not None:
        kept["withheld"] = grants.withheld
    return kept


def grants_of(kept: Mapping[str, Any], *, access_version: int) -> Grants:
    """The grants that a page kept, as those of ``access_version``. They were checked when they were listed."""
    return Grants.model_construct(
        principal_ids=tuple(kept["principal_ids"]),
        group_ids=tuple(kept["group_ids"]),
        everyone=kept["everyone"],
        access_version=access_version,
        expiring=tuple(
            ExpiringGrant.model_construct(
                principal_id=each.get("principal_id"),
                group_id=each.get("group_id"),
                expires_at=datetime.fromisoformat(each["expires_at"]),
            )
            for each in kept.get("expiring", ())
        ),
    )
