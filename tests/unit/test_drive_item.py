"""What Drive says of an item, whatever it is: parsed to what can be kept, or no item at all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.connectors.drive.content import content_version, obstacle
from activities.connectors.drive.documents import upsert
from activities.connectors.drive.grants import GrantRules, inherited_grants, must_be_listed, read_grants
from activities.connectors.drive.item import Item, is_id
from headwater.ids import UNSTORABLE
from tests.unit.test_drive_grants import NOW, user

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["a", "1", "../x", "\ud800\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
FIELDS = [
    "id",
    "name",
    "mimeType",
    "parents",
    "trashed",
    "version",
    "size",
    "md5Checksum",
    "driveId",
    "webViewLink",
    "resourceKey",
    "shortcutDetails",
    "capabilities",
    "clientEncryptionDetails",
    "inheritedPermissionsDisabled",
    "hasAugmentedPermissions",
    "permissionIds",
    "permissions",
    "modifiedTime",
]
PERMISSION_FIELDS = [
    "id",
    "type",
    "role",
    "emailAddress",
    "domain",
    "allowFileDiscovery",
    "expirationTime",
    "deleted",
    "pendingOwner",
    "view",
    "permissionDetails",
    "inheritedPermissionsDisabled",
]
RULES = GrantRules(discoverable_as_everyone=True)


def answers(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), JSON)


@given(raw=answers(FIELDS), file_id=st.sampled_from(["1AbC", None]))
def test_whatever_is_said_of_an_item_it_can_be_kept_or_is_none(raw: dict[str, Any], file_id: str | None) -> None:
    item = Item.parse(raw if file_id is None else {**raw, "id": file_id})
    if item is None:
        return
    grants = read_grants(item.raw, None if must_be_listed(item.raw) else item.raw["permissions"], rules=RULES)
    inherited_grants(item.raw, [], rules=RULES)
    change = upsert(item, grants, version=content_version(item.raw), path=item.name, now=NOW)
    obstacle(item.raw)
    assert is_id(item.id) and all(map(is_id, (*item.parents, *filter(None, (item.drive_id, item.target_id)))))
    for text in (change.source_id, change.locator, change.version, change.label, item.link, item.resource_key):
        assert not UNSTORABLE.search(text or "") and len(text or "") < 10_000
    assert "\n" not in item.resource_key + item.link + (content_version(item.raw) or "")


@given(permission=answers(PERMISSION_FIELDS), limited=JSON)
def test_whatever_is_said_of_a_permission_it_lets_in_nobody_who_is_not_named(
    permission: dict[str, Any], limited: Any
) -> None:
    raw = {"inheritedPermissionsDisabled": limited}
    for grants in (read_grants(raw, [permission], rules=RULES), inherited_grants(raw, [permission], rules=RULES)):
        found = grants.grants
        names = (*found.principal_ids, *found.group_ids, *(each.name for each in found.expiring))
        said = (permission.get("emailAddress"), permission.get("domain"))
        assert all(
            name.removeprefix("domain:") in [each.strip().lower() for each in said if isinstance(each, str)]
            for name in names
        )
        if found.everyone:
            assert (permission["type"], permission["allowFileDiscovery"]) == ("anyone", True)
            assert not permission.get("deleted") and not permission.get("view")


@pytest.mark.parametrize(
    "said",
    [
        {"id": "a/b"}, {"id": ".."}, {"id": None}, {"id": "A" * 129}, {"id": "a\n"}, {"id": 7}, {"driveId": ""}, {"driveId": 7},
        {"trashed": "false"}, {"trashed": 0}, {"parents": "1"}, {"parents": {"1": 1}}, {"mimeType": 7}, {"mimeType": []},
    ],
)  # fmt: skip
def test_what_nobody_could_place_is_no_item(said: dict[str, Any]) -> None:
    assert Item.parse({"id": "1AbC"}) is not None
    assert Item.parse({"id": "1AbC", **said}) is None


def test_what_is_said_beside_that_is_left_out_where_it_is_none() -> None:
    item = Item.parse(
        {
            "id": "1AbC",
            "name": "a\x00b\ud800",
            "parents": ["1", None, "..", "1", 7],
            "version": "9" * 30,
            "webViewLink": "javascript:alert(1)",
            "resourceKey": "k\r\nX-Evil: 1",
            "shortcutDetails": {"targetId": "../x", "targetResourceKey": 7},
            "inheritedPermissionsDisabled": "true",
        }
    )
    assert item is not None
    assert (item.name, item.parents, item.version) == ("a\ufffdb\ufffd", ("1",), 0)
    assert (item.link, item.resource_key, item.target_id, item.target_key) == ("", "", "", "")
    assert item.is_limited


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-13-01T00:00:00Z", 7, []]
)
def test_an_end_that_is_no_time_is_over(time: object) -> None:
    permission = {**user("ada@a.test"), "expirationTime": time}
    found = read_grants({"id": "1"}, [permission], rules=RULES)
    assert found.grants.principal_ids == () and not found.let_anybody_in(NOW)


@pytest.mark.parametrize(
    "permission",
    [
        {"type": "group", "role": "reader", "emailAddress": "domain:a.test"},
        {"type": "group", "role": "reader", "emailAddress": "a.test"},
        {"type": "user", "role": "reader", "emailAddress": "group:eng@a.test"},
        {"type": "domain", "role": "reader", "domain": "ada@a.test", "allowFileDiscovery": True},
        {"type": "user", "role": ["reader"], "emailAddress": "ada@a.test"},
        {"type": ["user"], "role": "reader", "emailAddress": "ada@a.test"},
    ],
)
def test_a_grantee_that_is_no_address_or_domain_is_nobody(permission: dict[str, Any]) -> None:
    assert not read_grants({"id": "1"}, [{"id": "1", **permission}], rules=RULES).let_anybody_in(NOW)


@pytest.mark.parametrize("limited", [True, "true", 1, {}])
def test_what_a_folder_hands_down_is_not_taken_for_an_item_that_is_limited_itself(limited: object) -> None:
    file = {"id": "1", "inheritedPermissionsDisabled": limited}
    assert not inherited_grants(file, [user("ada@a.test")], rules=RULES).is_complete
    assert inherited_grants({"id": "1"}, [user("ada@a.test")], rules=RULES).grants.principal_ids == ("ada@a.test",)


def test_permissions_that_the_item_names_and_its_folder_lacks_are_missing() -> None:
    file = {"id": "1", "permissionIds": ["another"]}
    assert not inherited_grants(file, [user("ada@a.test")], rules=RULES).is_complete
    wrong: tuple[Any, ...] = (7, {"1": 1}, [None], [[]])
    for named in wrong:
        assert not read_grants({"id": "1", "permissionIds": named}, [], rules=RULES).is_complete
