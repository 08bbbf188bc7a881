"""Scope and Authorization, as hosts build them: a bad value is one sentence that names the field."""

from typing import Any

import pydantic
import pytest

from headwater import Authorization, HeadwaterError, LimitError, Scope, ValidationError


class Holder(pydantic.BaseModel):
    scope: Scope
    who: Authorization | None = None


@pytest.mark.parametrize(
    ("part", "value"),
    [("tenant_id", ""), ("tenant_id", "a/b"), ("resource_id", "x" * 65), ("corpus_id", "a b"), ("corpus_id", "a\n"), ("corpus_id", 7), ("corpus_id", b"c")],
)  # fmt: skip
def test_a_bad_scope_names_its_part(part: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=part) as caught:
        Scope(**{"tenant_id": "t", "resource_id": "r", "corpus_id": "c", part: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("principal_id", "", ValidationError),
        ("principal_id", "a" * 257, ValidationError),
        ("principal_id", "a\0", ValidationError),
        ("principal_id", "\ud800", ValidationError),
        ("tenant_id", "t/2", ValidationError),
        ("group_ids", ("",), ValidationError),
        ("group_ids", "eng", ValidationError),
        ("group_ids", tuple(f"g{n}" for n in range(33)), LimitError),
        ("access_version", 0, ValidationError),
        ("access_version", "secret-7", ValidationError),
        ("access_version", 2**53, ValidationError),
        ("access_version", "7", ValidationError),
        ("access_version", True, ValidationError),
        ("access_version", 1.0, ValidationError),
        ("principal_id", b"alice", ValidationError),
        ("tenant_id", b"t", ValidationError),
        ("group_ids", (b"eng",), ValidationError),
        ("acess_version", 1, ValidationError),
    ],
)
def test_a_bad_authorization_names_its_field(field: str, value: Any, error: type[HeadwaterError]) -> None:
    with pytest.raises(error, match=field) as caught:
        Authorization(**{"principal_id": "alice", "tenant_id": "t", field: value})
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ValidationError, match="corpus_id"):
        Scope(tenant_id="t", resource_id="r")  # type: ignore[call-arg]  # that it is missing is the point


def test_limits_themselves_are_allowed() -> None:
    who = Authorization(principal_id="ä" * 256, tenant_id="t" * 64, group_ids=tuple(f"g{n}" for n in range(32)))

    assert len(who.group_ids) == 32 and who.access_version is None


@pytest.mark.parametrize("form", [list, set, iter])
def test_groups_come_as_they_are(form: Any) -> None:
    who = Authorization(principal_id="alice", tenant_id="t", group_ids=form(("eng",)), access_version=2**53 - 1)
    assert who.group_ids == ("eng",)


def test_inside_another_model_they_fail_as_pydantic_does() -> None:
    for bad in ({"tenant_id": "a/b", "resource_id": "r", "corpus_id": "c"}, {"tenant_id": "t"}, "t/r/c"):
        with pytest.raises(pydantic.ValidationError) as caught:
            Holder.model_validate({"scope": bad})
        assert caught.value.errors()[0]["loc"][0] == "scope"

    text = '{"scope": {"tenant_id": "t", "resource_id": "r", "corpus_id": "c"}, "who": {"principal_id": "p", "tenant_id": "t", "group_ids": ["g"]}}'
    held = Holder.model_validate_json(text)
    assert held.scope == Scope(tenant_id="t", resource_id="r", corpus_id="c")
    assert held.who == Authorization(principal_id="p", tenant_id="t", group_ids=("g",))


@pytest.mark.parametrize("text", ["", "a/b", "a/b/c/d", "a//c", "a/b/", "a/b/c d"])
def test_a_scope_is_written_in_three_parts(text: str) -> None:
    with pytest.raises(ValidationError):
        Scope.parse(text)


def test_a_scope_reads_what_it_writes() -> None:
    assert str(Scope.parse("t1/docs/hand.book~@_-")) == "t1/docs/hand.book~@_-"
