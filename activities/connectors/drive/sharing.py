"""Who may read an item, asked for where the listing did not say, and a fingerprint that differs once that changed.

On shared drives no listing ever says it, and asking for every file would double the requests of a bootstrap. An item
on which nothing stands itself has the permissions of its folder, so that they are asked for once per folder and page.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import DriveFault
from activities.connectors.drive.grants import (
    Denial,
    DriveGrants,
    GrantRules,
    inherited_grants,
    is_inherited_only,
    must_be_listed,
    read_grants,
)
from activities.connectors.drive.item import Item
from activities.connectors.drive.patience import Patience
from headwater.connectors import DocumentDenied, DocumentFault, DocumentGone, DocumentRefused, GrantSet

_Permissions = list[Mapping[str, Any]]
_PAGES_MAX: Final = 100
# What does not bear on who may read: the same permission comes with other details from a listing and from a list of
# permissions.
_SKIPPED: Final = frozenset({"permissionDetails", "displayName", "photoLink", "kind"})


class Sharing:
    """Of the items of one page: what was asked for is not asked for again."""

    def __init__(self, calls: DriveCalls, rules: GrantRules, patience: Patience) -> None:
        self._calls = calls
        self._rules = rules
        self._patience = patience
        self._listed: dict[str, _Permissions | Denial] = {}

    def grants_of(self, item: Item, *, open_folder_id: str | None) -> DriveGrants:
        """Who may read the item. ``open_folder_id`` is the folder it lies in, if that hands down what it has itself.

        A limited-access folder does not: some of its permissions are those of people who stop at its door.
        """
        if item.drive_id and item.inherits_all and open_folder_id and must_be_listed(item.raw):
            permissions = self._list(open_folder_id)
            if permissions and not isinstance(permissions, Denial):
                grants = inherited_grants(item.raw, permissions, rules=self._rules)
                if grants.is_complete:
                    return grants
        permissions = self._permissions(item)
        if isinstance(permissions, Denial):
            return DriveGrants(denial=permissions)
        return read_grants(item.raw, permissions, rules=self._rules)

    def stamp_of(self, item: Item) -> str | None:
        """A fingerprint of a folder's permissions, and so of what comes down from it; ``None``: unreadable."""
        return self._stamp(self._permissions(item), is_limited=item.is_limited)

    def stamp_if_told(self, item: Item) -> str | None:
        """The same, if the listing told them; ``None`` if they would have to be asked for."""
        return None if must_be_listed(item.raw) else self.stamp_of(item)

    def stamp_of_drive(self, drive_id: str) -> str | None:
        """The same of a shared drive: of its members."""
        return self._stamp(self._list(drive_id), is_limited=False)

    def _permissions(self, item: Item) -> _Permissions | Denial:
        if must_be_listed(item.raw):
            return self._list(item.id, resource_key=item.resource_key or None)
        embedded: _Permissions = item.raw["permissions"]
        return embedded

    def _list(self, file_id: str, *, resource_key: str | None = None) -> _Permissions | Denial:
        if file_id not in self._listed:
            self._listed[file_id] = self._ask(file_id, resource_key)
        return self._listed[file_id]

    def _ask(self, file_id: str, resource_key: str | None) -> _Permissions | Denial:
        """Of what may not be known, or what Drive fails to tell, nothing is assumed."""
        try:
            return self._patience.ask(lambda: self._all(file_id, resource_key))
        except (DocumentDenied, DocumentGone):
            return Denial.UNREADABLE
        except (DocumentRefused, DocumentFault):
            return Denial.FAULT

    def _all(self, file_id: str, resource_key: str | None) -> _Permissions:
        found: _Permissions = []
        token: str | None = None
        for _ in range(_PAGES_MAX):
            page = self._calls.permissions(file_id, page_token=token, resource_key=resource_key)
            found += page["permissions"]
            token = page.get("nextPageToken")
            if not token:
                return found
        raise DriveFault(f"The permissions of file {file_id} have no last page.")

    def _stamp(self, permissions: _Permissions | Denial, *, is_limited: bool) -> str | None:
        if isinstance(permissions, Denial):
            return None
        kept = [
            {
                **{key: value for key, value in permission.items() if key not in _SKIPPED},
                "inherited": is_inherited_only(permission),
            }
            for permission in permissions
        ]
        return _digest([is_limited, *sorted(json.dumps(each, sort_keys=True) for each in kept)])


def access_of(grants: GrantSet) -> str:
    """A fingerprint of who may read."""
    expiring = sorted((each.kind, each.name, each.expires_at.isoformat()) for each in grants.expiring)
    return _digest([sorted(grants.principal_ids), sorted(grants.group_ids), grants.everyone, expiring, grants.withheld])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[:32]


__all__ = ["Sharing", "access_of"]
