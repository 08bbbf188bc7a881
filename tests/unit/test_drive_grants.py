"""Who may read a Drive item, rule by rule."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.connectors.drive.grants import (
    Denial,
    DriveGrants,
    Grantee,
    GrantRules,
    must_be_listed,
    read_grants,
)
from headwater.connectors import ExpiringGrant, GrantSet

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOBODY = DriveGrants()
DIRECT = {"inherited": False, "permissionType": "file", "role": "reader"}
INHERITED = {"inherited": True, "inheritedFrom": "0ADrive", "permissionType": "member", "role": "reader"}


def granted(*names: Any, **fields: Any) -> DriveGrants:
    return DriveGrants(GrantSet(*names, **fields))


def user(address: str | None = "ada@a.test", **changed: Any) -> dict[str, Any]:
    permission = {"id": f"id-{address}", "type": "user", "emailAddress": address, "role": "reader", **changed}
    return {key: value for key, value in permission.items() if value is not None}


def group(address: str = "eng@a.test", **changed: Any) -> dict[str, Any]:
    return user(address, type="group", **changed)


def domain(name: str = "a.test", **changed: Any) -> dict[str, Any]:
    return {"id": "d", "type": "domain", "domain": name, "role": "reader", **changed}


def anyone(**changed: Any) -> dict[str, Any]:
    return {"id": "anyoneWithLink", "type": "anyone", "role": "reader", **changed}


def read(*permissions: dict[str, Any], rules: GrantRules | None = None, **file: Any) -> DriveGrants:
    return read_grants({"id": "1", **file}, permissions, rules=rules or GrantRules())


@pytest.mark.parametrize(
    ("permission", "expected"),
    [
        # people and groups, by address
        (user("Ada@A.Test"), granted(("ada@a.test",))),
        (user(" ada@a.test "), granted(("ada@a.test",))),
        (group("Eng@A.Test"), granted((), ("eng@a.test",))),
        *[
            (user(role=role), granted(("ada@a.test",)))
            for role in ("owner", "organizer", "fileOrganizer", "writer", "commenter", "reader")
        ],
        # a domain is a group; whoever needs the link gets nothing
        (domain("A.Test", allowFileDiscovery=True), granted((), ("domain:a.test",))),
        (domain(allowFileDiscovery=False), NOBODY),
        (domain(), NOBODY),
        (anyone(allowFileDiscovery=True), NOBODY),
        (anyone(allowFileDiscovery=False), NOBODY),
        (anyone(), NOBODY),
        # a user's permission knows no discovery
        (user(allowFileDiscovery=False), granted(("ada@a.test",))),
        # what is no access to the content
        (user(pendingOwner=True, role="owner"), NOBODY),
        (user(deleted=True), NOBODY),
        (group(deleted=True), NOBODY),
        (user(view="published", role="publishedReader"), NOBODY),
        (user(view="published"), NOBODY),
        (user(view="metadata"), NOBODY),
        (user(role="publishedReader"), NOBODY),
        (user(role="somethingNew"), NOBODY),
        (user(role=None), NOBODY),
        (user(type="somethingNew"), NOBODY),
        (user(None), NOBODY),
        (user(""), NOBODY),
        (user("a\0@a.test"), NOBODY),
        (user("\ud800@a.test"), NOBODY),
        (user("x" * 300), NOBODY),
        (user(deleted=False, pendingOwner=False, view=None), granted(("ada@a.test",))),
    ],
)
def test_one_permission_grants(permission: dict[str, Any], expected: DriveGrants) -> None:
    assert read(permission) == expected


def test_only_a_discoverable_anyone_is_everyone_and_only_where_the_settings_say_so() -> None:
    rules = GrantRules(discoverable_as_everyone=True)
    assert read(anyone(allowFileDiscovery=True), rules=rules) == granted(everyone=True)
    assert read(anyone(allowFileDiscovery=False), rules=rules) == NOBODY
    assert read(anyone(), rules=rules) == NOBODY
    assert read(domain(allowFileDiscovery=True), rules=rules) == granted((), ("domain:a.test",))


def test_a_link_takes_nothing_from_those_who_are_named() -> None:
    found = read(user(), anyone(allowFileDiscovery=False), group("Ops@a.test"), group())
    assert found == granted(("ada@a.test",), ("eng@a.test", "ops@a.test"))
    assert found.is_complete


def test_permissions_are_in_one_order_and_each_once() -> None:
    there, back = [user("b@a.test"), user("A@a.test"), user("a@a.test")], [user("a@A.test"), user("B@a.test")]
    assert read(*there) == read(*back) == granted(("a@a.test", "b@a.test"))


def test_an_expiry_is_kept() -> None:
    found = read(user(expirationTime="2026-03-02T12:00:00.000Z"), group(expirationTime="2026-03-02T14:00:00+02:00"))
    tomorrow = NOW + timedelta(days=1)
    assert found == granted(
        expiring=(ExpiringGrant("principal", "ada@a.test", tomorrow), ExpiringGrant("group", "eng@a.test", tomorrow))
    )
    assert found.let_anybody_in(NOW) and not found.let_anybody_in(tomorrow)


def test_an_expiry_in_the_past_is_kept_too_because_clocks_differ() -> None:
    found = read(user(expirationTime="2020-01-01T00:00:00Z"))
    assert len(found.grants.expiring) == 1 and found.grants.principal_ids == ()
    assert not found.let_anybody_in(NOW)


@pytest.mark.parametrize("written", ["", "tomorrow", "2026-03-02T12:00:00", 7])
def test_an_expiry_that_cannot_be_read_is_over(written: object) -> None:
    assert read(user(expirationTime=written)) == NOBODY


def test_the_longest_of_several_permissions_of_one_person_counts() -> None:
    short, long = user(expirationTime="2026-03-02T12:00:00Z"), user(expirationTime="2026-03-05T12:00:00Z")
    ends = (ExpiringGrant("principal", "ada@a.test", NOW + timedelta(days=4)),)
    assert read(short, long) == read(long, short) == granted(expiring=ends)
    assert read(short, user()) == read(user(), short) == granted(("ada@a.test",))


def test_fewer_permissions_than_ids_are_denied_and_flagged() -> None:
    found = read(user(), permissionIds=["id-ada@a.test", "id-bob@a.test"])
    assert found == DriveGrants(denial=Denial.INCOMPLETE)
    assert not found.is_complete and not found.let_anybody_in(NOW)


def test_as_many_permissions_as_ids_are_complete() -> None:
    assert read(user(), permissionIds=["id-ada@a.test"]) == granted(("ada@a.test",))
    assert read(user(), user("bob@a.test"), permissionIds=["id-ada@a.test"]).is_complete


def test_permissions_that_nobody_could_read_are_denied_and_flagged() -> None:
    found = read_grants({"id": "1"}, None, rules=GrantRules(discoverable_as_everyone=True))
    assert found == DriveGrants(denial=Denial.UNREADABLE)
    assert not found.is_complete


def test_an_item_without_permissions_is_for_nobody() -> None:
    assert read() == NOBODY


@pytest.mark.parametrize(
    ("file", "listed"),
    [
        ({}, True),
        ({"permissions": []}, True),
        ({"permissions": None}, True),
        ({"permissions": [user()], "permissionIds": ["id-ada@a.test", "other"]}, True),
        ({"permissions": [user()], "permissionIds": ["id-ada@a.test"]}, False),
        ({"permissions": [user()]}, False),
        ({"driveId": "0A", "permissionIds": ["id-ada@a.test"]}, True),
    ],
)
def test_permissions_that_are_absent_or_not_all_are_listed(file: dict[str, Any], listed: bool) -> None:
    assert must_be_listed(file) is listed


def test_inherited_permissions_count_where_the_folder_is_not_limited() -> None:
    assert read(user(permissionDetails=[INHERITED])) == granted(("ada@a.test",))


@pytest.mark.parametrize("where", ["file", "permission"])
def test_a_limited_folder_is_for_those_named_on_it_and_for_its_managers(where: str) -> None:
    flag: dict[str, Any] = {"inheritedPermissionsDisabled": True}
    on = flag if where == "permission" else {}
    of_file = flag if where == "file" else {}
    found = read(
        user("member@a.test", permissionDetails=[INHERITED], **on),
        user("manager@a.test", role="organizer", permissionDetails=[INHERITED], **on),
        user("owner@a.test", role="owner", permissionDetails=[INHERITED], **on),
        user("named@a.test", permissionDetails=[DIRECT], **on),
        user("both@a.test", permissionDetails=[INHERITED, DIRECT], **on),
        user("plain@a.test", **on),
        **of_file,
    )
    assert found.grants.principal_ids == (
        "both@a.test",
        "manager@a.test",
        "named@a.test",
        "owner@a.test",
        "plain@a.test",
    )


def test_more_grantees_than_a_source_may_have_are_denied() -> None:
    assert len(read(*[group(f"g{n}@a.test") for n in range(32)]).grants.group_ids) == 32
    many = [group(f"g{n}@a.test") for n in range(32)] + [group("g@a.test", expirationTime="2027-01-01T00:00:00Z")]
    found = read(*many)
    assert found == DriveGrants(denial=Denial.TOO_MANY) and found.is_complete
    assert read(*[user(f"u{n}@a.test") for n in range(1_025)]).denial is Denial.TOO_MANY


def test_a_mapping_replaces_what_a_grantee_gets() -> None:
    table = {
        "group:eng@a.test": GrantSet(group_ids=("engineering",)),
        "anyone-link": GrantSet(group_ids=("staff",)),
        "domain-link:a.test": GrantSet(everyone=True),
        "user:ada@a.test": GrantSet(),
    }
    rules = GrantRules(map_grantee=lambda grantee: table.get(grantee.key))
    assert read(group("Eng@a.test"), user("bob@a.test"), rules=rules) == granted(("bob@a.test",), ("engineering",))
    assert read(anyone(), rules=rules) == granted(group_ids=("staff",))
    assert read(domain(), rules=rules) == granted(everyone=True)
    assert read(domain(allowFileDiscovery=True), rules=rules) == granted(group_ids=("domain:a.test",))
    assert read(user(), rules=rules) == NOBODY


def test_a_mapping_never_lets_in_what_is_no_access() -> None:
    rules = GrantRules(map_grantee=lambda grantee: GrantSet(everyone=True))
    assert read(user(view="metadata"), user(deleted=True), rules=rules) == NOBODY


def test_a_mapped_grant_ends_when_its_permission_does_and_everyone_cannot_end() -> None:
    rules = GrantRules(map_grantee=lambda grantee: GrantSet(group_ids=("staff",), everyone=True))
    found = read(user(expirationTime="2026-03-02T12:00:00Z"), rules=rules)
    assert found == granted(expiring=(ExpiringGrant("group", "staff", NOW + timedelta(days=1)),))


@pytest.mark.parametrize(
    ("grantee", "key"),
    [
        (Grantee("user", "ada@a.test"), "user:ada@a.test"),
        (Grantee("group", "eng@a.test"), "group:eng@a.test"),
        (Grantee("domain", "a.test"), "domain:a.test"),
        (Grantee("domain", "a.test", is_link_only=True), "domain-link:a.test"),
        (Grantee("anyone"), "anyone"),
        (Grantee("anyone", is_link_only=True), "anyone-link"),
    ],
)
def test_a_grantee_has_a_key(grantee: Grantee, key: str) -> None:
    assert grantee.key == key


def test_what_a_mapping_lets_end_ends_by_the_earlier_of_both() -> None:
    ends = NOW + timedelta(days=2)
    grants = GrantSet(expiring=(ExpiringGrant("principal", "u-1", ends), ExpiringGrant("group", "staff", ends)))
    rules = GrantRules(map_grantee=lambda grantee: grants)
    assert read(user(), rules=rules) == DriveGrants(grants)
    found = read(user(expirationTime="2026-03-02T12:00:00Z"), rules=rules)
    assert {each.expires_at for each in found.grants.expiring} == {NOW + timedelta(days=1)}
