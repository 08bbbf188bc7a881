"""Drive's `fields` parameter: the grammar, the names that the schema knows, and the part of an answer that is sent."""

from typing import Any

import pytest

from tests.drive.discovery import methods, violations
from tests.drive.error_json import error_json
from tests.drive.errors import DriveError
from tests.drive.masks import DEFAULT_FIELDS, chosen, mask_for, parse_mask

FILE = {"$ref": "File"}
FILE_LIST = {"$ref": "FileList"}

ANSWER: dict[str, Any] = {
    "kind": "drive#fileList",
    "nextPageToken": "more",
    "files": [
        {
            "id": "1",
            "name": "plan.md",
            "size": "7",
            "owners": [{"emailAddress": "ada@a.test", "displayName": "Ada"}],
            "permissions": [{"id": "p", "type": "user", "permissionDetails": [{"role": "reader", "inherited": True}]}],
            "exportLinks": {"text/plain": "http://127.0.0.1/1"},
        },
        {"id": "2", "name": "empty.md"},
    ],
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("*", ANSWER),
        ("kind", {"kind": "drive#fileList"}),
        ("kind, nextPageToken", {"kind": "drive#fileList", "nextPageToken": "more"}),
        ("files/id", {"files": [{"id": "1"}, {"id": "2"}]}),
        ("files(id)", {"files": [{"id": "1"}, {"id": "2"}]}),
        ("files(id,size)", {"files": [{"id": "1", "size": "7"}, {"id": "2"}]}),
        ("files(id),files/name", {"files": [{"id": "1", "name": "plan.md"}, {"id": "2", "name": "empty.md"}]}),
        ("files/owners/emailAddress", {"files": [{"owners": [{"emailAddress": "ada@a.test"}]}, {}]}),
        ("files(owners(emailAddress))", {"files": [{"owners": [{"emailAddress": "ada@a.test"}]}, {}]}),
        (
            "files(permissions/permissionDetails(role))",
            {"files": [{"permissions": [{"permissionDetails": [{"role": "reader"}]}]}, {}]},
        ),
        ("files/exportLinks", {"files": [{"exportLinks": {"text/plain": "http://127.0.0.1/1"}}, {}]}),
        ("files(id),files", {"files": ANSWER["files"]}),
        ("files,files(id)", {"files": ANSWER["files"]}),
        ("files/*", {"files": ANSWER["files"]}),
        ("files(*)", {"files": ANSWER["files"]}),
        ("*/id", {"files": [{"id": "1"}, {"id": "2"}]}),
    ],
)
def test_a_mask_chooses(fields: str, expected: object) -> None:
    answer = chosen(parse_mask(fields, schema=FILE_LIST), ANSWER)

    assert strip_scalars(answer) == expected if fields == "*/id" else answer == expected


def strip_scalars(answer: dict[str, Any]) -> dict[str, Any]:
    """The lists and objects of an answer: what a star keeps of plain values is not asked here."""
    return {name: value for name, value in answer.items() if not isinstance(value, str)}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ("", "Invalid field selection "),
        ("nonsense", "Invalid field selection nonsense"),
        ("files(id,nonsense)", "Invalid field selection nonsense"),
        ("files/nonsense", "Invalid field selection nonsense"),
        ("files(permissions(permissionDetails(type)))", "Invalid field selection type"),
        ("files(id/name)", "Invalid field selection name"),
        ("files/owners/*/nonsense", "Invalid field selection nonsense"),
        ("id", "Invalid field selection id"),
        ("files(id", "Invalid field selection files(id"),
        ("files(id))", "Invalid field selection files(id))"),
        ("files()", "Invalid field selection files()"),
        ("files(id,,name)", "Invalid field selection files(id,,name)"),
        ("files/", "Invalid field selection files/"),
        (",kind", "Invalid field selection ,kind"),
    ],
)
def test_a_mask_with_an_unknown_name_or_without_sense_is_refused(fields: str, named: str) -> None:
    with pytest.raises(DriveError) as refused:
        parse_mask(fields, schema=FILE_LIST)

    assert error_json(refused.value) == {
        "error": {
            "code": 400,
            "message": named,
            "errors": [
                {
                    "domain": "global",
                    "reason": "invalidParameter",
                    "message": named,
                    "location": "fields",
                    "locationType": "parameter",
                }
            ],
        }
    }


def test_without_a_mask_the_checksum_of_a_file_is_not_sent() -> None:
    mask = mask_for("drive.files.get", fields=None, schema=FILE)

    assert chosen(mask, {"id": "1", "name": "a", "md5Checksum": "0", "parents": ["2"]}) == {"id": "1", "name": "a"}


def test_about_is_not_answered_without_a_mask() -> None:
    with pytest.raises(DriveError, match="required for this method"):
        mask_for("drive.about.get", fields=None, schema={"$ref": "About"})


def test_the_fields_that_are_sent_without_a_mask_exist() -> None:
    for method_id, fields in DEFAULT_FIELDS.items():
        response = methods()[method_id].response

        assert response is not None
        parse_mask(fields, schema=response)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"id": "1", "size": "12", "trashed": False, "parents": ["2"]}, []),
        ({"size": 12}, ["/size: int where int64 belongs"]),
        ({"trashed": "false"}, ["/trashed: str where boolean belongs"]),
        ({"modifiedTime": "2026-11-30T10:00:00.000Z"}, []),
        ({"modifiedTime": "yesterday"}, ["/modifiedTime: str where date-time belongs"]),
        ({"parents": "2"}, ["/parents: str where array belongs"]),
        (
            {"permissions": [{"permissionDetails": [{"type": "member"}]}]},
            ["/permissions/0/permissionDetails/0/type: no such field"],
        ),
        ({"exportLinks": {"text/plain": "http://127.0.0.1/"}}, []),
        ({"exportLinks": {"text/plain": None}}, ["/exportLinks/text/plain: NoneType where string belongs"]),
        ([], ["the whole: list where object belongs"]),
    ],
)
def test_an_answer_is_held_against_the_schema(value: object, found: list[str]) -> None:
    assert list(violations(value, FILE)) == found
