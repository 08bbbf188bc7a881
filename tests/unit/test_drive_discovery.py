"""The parameters of Drive's methods as the discovery document has them: types, bounds, defaults, and what is refused."""

import pytest

from tests.drive.discovery import Value, methods, parameters_of
from tests.drive.errors import DriveError


def asked(method_id: str, **query: str) -> dict[str, Value]:
    return parameters_of(methods()[method_id], path={}, query=list(query.items()))


def test_what_is_not_given_has_googles_default() -> None:
    given = asked("drive.changes.list", pageToken="7")

    assert (given["pageToken"], given["pageSize"], given["includeRemoved"]) == ("7", 100, True)
    assert (given["includeItemsFromAllDrives"], given["supportsAllDrives"]) == (False, False)
    assert "driveId" not in given


@pytest.mark.parametrize(
    ("method_id", "most"), [("drive.files.list", 1000), ("drive.changes.list", 1000), ("drive.drives.list", 100)]
)
def test_a_page_size_is_brought_down_to_the_most_there_is(method_id: str, most: int) -> None:
    required = {"pageToken": "7"} if method_id == "drive.changes.list" else {}

    assert asked(method_id, pageSize="4000000", **required)["pageSize"] == most
    assert asked(method_id, pageSize="3", **required)["pageSize"] == 3


@pytest.mark.parametrize(
    ("query", "reason", "location"),
    [
        ({"pageSize": "-1"}, "invalidParameter", "pageSize"),
        ({"pageSize": "1e3"}, "invalidParameter", "pageSize"),
        ({"supportsAllDrives": "True"}, "invalidParameter", "supportsAllDrives"),
        ({"fileId": "1"}, "invalidParameter", "fileId"),
        ({"nonsense": ""}, "invalidParameter", "nonsense"),
        ({"pageToken": None}, "required", "pageToken"),
    ],
)
def test_a_wrong_parameter_is_refused(query: dict[str, str | None], reason: str, location: str) -> None:
    given = {name: value for name, value in {"pageToken": "7", **query}.items() if value is not None}

    with pytest.raises(DriveError) as refused:
        asked("drive.changes.list", **given)

    assert (refused.value.status, refused.value.reason, refused.value.location) == (400, reason, location)


def test_a_parameter_may_be_given_once() -> None:
    with pytest.raises(DriveError, match="once"):
        parameters_of(methods()["drive.files.list"], path={}, query=[("q", "a"), ("q", "b")])
