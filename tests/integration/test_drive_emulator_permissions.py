"""Permissions on the emulated Drive: who sees them, and what they open."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.drive_office import ADA, BEN, ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def share(office: Office, file_id: str, **body: Any) -> dict[str, Any]:
    made: dict[str, Any] = office.ada.permissions().create(fileId=file_id, body=body, fields="*").execute()
    return made


def test_a_permission_opens_a_file(office: Office) -> None:
    made = share(office, office.file, type="user", role="reader", emailAddress=BEN)

    assert (made["type"], made["role"], made["emailAddress"]) == ("user", "reader", BEN)
    assert office.ben.files().get(fileId=office.file).execute()["name"] == "plan.md"

    office.ada.permissions().delete(fileId=office.file, permissionId=made["id"]).execute()

    assert refused(office.ben.files().get(fileId=office.file))[0] == 404


def test_whoever_may_not_share_sees_no_permissions(office: Office) -> None:
    assert office.robot.files().get(fileId=office.file, fields="permissions,permissionIds").execute() == {}
    assert refused(office.robot.permissions().list(fileId=office.file))[:2] == (403, "insufficientFilePermissions")

    seen = office.ada.files().get(fileId=office.file, fields="permissions(emailAddress,role)").execute()

    assert {permission["emailAddress"] for permission in seen["permissions"]} == {ADA, ROBOT}


def test_without_a_mask_a_permission_does_not_say_whose_it_is(office: Office) -> None:
    [*permissions] = office.ada.permissions().list(fileId=office.file).execute()["permissions"]

    assert {tuple(sorted(permission)) for permission in permissions} == {("id", "kind", "role", "type")}


def test_permissions_come_in_pages(office: Office) -> None:
    for number in range(5):
        share(office, office.file, type="domain", role="reader", domain=f"d{number}.test")
    permissions = office.ada.permissions()
    request, sizes = permissions.list(fileId=office.file, pageSize=3), []
    while request is not None:
        answer = request.execute()
        sizes.append(len(answer["permissions"]))
        request = permissions.list_next(request, answer)

    assert sizes == [3, 3, 1]


def test_links_and_domains_keep_what_is_said_of_discovery(office: Office) -> None:
    found = share(office, office.file, type="anyone", role="reader", allowFileDiscovery=True)
    linked = share(office, office.folder, type="domain", role="reader", domain="a.test")

    assert (found["allowFileDiscovery"], linked["allowFileDiscovery"]) == (True, False)
    assert linked["domain"] == "a.test"


def test_a_permission_ends_at_its_time(office: Office) -> None:
    made = share(
        office, office.file, type="user", role="reader", emailAddress=BEN, expirationTime="2026-03-03T00:00:00Z"
    )

    assert made["expirationTime"] == "2026-03-03T00:00:00.000Z"

    updated = (
        office.ada.permissions()
        .update(fileId=office.file, permissionId=made["id"], body={"role": "writer"}, removeExpiration=True, fields="*")
        .execute()
    )

    assert updated["role"] == "writer"
    assert "expirationTime" not in updated


def test_ownership_goes_only_where_it_is_meant_to(office: Office) -> None:
    body = {"type": "user", "role": "owner", "emailAddress": BEN}

    assert refused(office.ada.permissions().create(fileId=office.file, body=body))[:2] == (403, "forbidden")

    office.ada.permissions().create(fileId=office.file, body=body, transferOwnership=True).execute()

    owners = office.ben.files().get(fileId=office.file, fields="owners(emailAddress)").execute()
    assert owners == {"owners": [{"emailAddress": BEN}]}


@pytest.mark.parametrize(
    "body",
    [{"role": "reader"}, {"type": "user", "role": "reader"}, {"type": "user"}, {"type": "pet", "role": "reader"}],
)
def test_a_permission_for_nobody_is_refused(office: Office, body: dict[str, str]) -> None:
    assert refused(office.ada.permissions().create(fileId=office.file, body=body))[0] == 400


def test_nobody_shares_what_they_cannot_see(office: Office) -> None:
    body = {"type": "user", "role": "reader", "emailAddress": BEN}

    assert refused(office.ben.permissions().create(fileId=office.file, body=body))[:2] == (404, "notFound")
    assert refused(office.robot.permissions().create(fileId=office.file, body=body))[0] == 403


def test_a_limited_folder_is_seen_and_does_not_open(office: Office) -> None:
    limited = office.world.add_folder("Board", parent=office.folder, owner=ADA).id
    below = office.world.add_file("salaries.md", b"x", parent=limited, owner=ADA).id
    assert office.robot.files().get(fileId=below).execute()["name"] == "salaries.md"

    office.ada.files().update(fileId=limited, body={"inheritedPermissionsDisabled": True}).execute()

    assert office.robot.files().get(fileId=limited).execute()["name"] == "Board"
    assert refused(office.robot.files().get(fileId=below))[0] == 404
