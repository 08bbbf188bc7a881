"""Sets of grants by their grantees' numbers: when each grant ends, and which set replaces which."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.store.grant_sets import Access, AccessChange, compare, grantee_names, resolve
from headwater.contracts import Grants

SOON = datetime(2027, 1, 1, tzinfo=UTC)
LATER = SOON + timedelta(days=1)
NUMBERS = {("principal", "ann"): 4, ("principal", "bob"): 3, ("group", "ann"): 2, ("everyone", ""): 1}


def grants(**more: object) -> Grants:
    return Grants.model_validate({"access_version": 1, **more})


def ending(name: str, at: datetime) -> dict[str, str]:
    return {"principal_id": name, "expires_at": at.isoformat()}


@pytest.mark.parametrize(
    ("given", "access"),
    [
        (grants(), Access()),
        (grants(principal_ids=["ann", "bob", "ann"]), Access([3, 4])),
        (grants(principal_ids=["ann"], group_ids=["ann"], everyone=True), Access([1, 2, 4])),
        (grants(principal_ids=["ann"], expiring=[ending("bob", SOON)]), Access([4], {3: SOON})),
        (grants(principal_ids=["ann", "bob"], expires_at=SOON), Access([], {3: SOON, 4: SOON})),
        (grants(everyone=True, expires_at=SOON), Access([], {1: SOON})),
        (grants(expiring=[ending("bob", LATER)], expires_at=SOON), Access([], {3: SOON})),
        (grants(expiring=[ending("bob", SOON)], expires_at=LATER), Access([], {3: SOON})),
        (grants(expiring=[ending("bob", LATER), ending("bob", SOON)]), Access([], {3: SOON})),
        (grants(principal_ids=["bob"], expiring=[ending("bob", SOON)]), Access([], {3: SOON})),
        (grants(expiring=[{"group_id": "ann", "expires_at": SOON.isoformat()}]), Access([], {2: SOON})),
    ],
)
def test_a_set_is_kept_by_numbers_with_the_end_of_each(given: Grants, access: Access) -> None:
    assert resolve(given, NUMBERS) == access


def test_each_grantee_is_named_once() -> None:
    given = grants(principal_ids=["ann", "ann"], group_ids=["ann"], everyone=True, expiring=[ending("ann", SOON)])
    assert grantee_names(given) == [("principal", "ann"), ("group", "ann"), ("everyone", "")]


STORED = Access([3], {4: SOON})


@pytest.mark.parametrize(
    ("wanted", "version", "change"),
    [
        (STORED, 7, AccessChange.UNCHANGED),
        (Access([3], {4: LATER}), 7, AccessChange.CONFLICT),
        (Access([3, 4]), 7, AccessChange.CONFLICT),
        (Access([3]), 7, AccessChange.CONFLICT),
        (STORED, 6, AccessChange.CONFLICT),
        (Access([3]), 8, AccessChange.SET),
        (STORED, 8, AccessChange.SET),
    ],
)
def test_a_set_replaces_one_of_a_lower_version_and_no_other(wanted: Access, version: int, change: AccessChange) -> None:
    assert compare(STORED, 7, wanted, version) is change
