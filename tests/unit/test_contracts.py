"""What the inputs of the public workflows accept, and what they say of the rest."""

from typing import Any

import pytest
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError

from headwater.contracts import (
    DeleteSourcesInput,
    Grants,
    IngestSourcesInput,
    PropagateDeletionInput,
    RenameSourcesInput,
    RepointSourceInput,
    SetGenerationInput,
    SetSourceAccessInput,
)
from workflows.inputs import parse_input

SCOPE = {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}
ALICE = {"principal_id": "alice", "tenant_id": "t1"}
PAIR = {"from": "a", "to": "b"}


def parse(model: type[BaseModel], **fields: Any) -> Any:
    return parse_input(model, {"scope": SCOPE, "request_id": "r1", **fields})


def refused(model: type[BaseModel], **fields: Any) -> tuple[str | None, str]:
    with pytest.raises(ApplicationError) as caught:
        parse(model, **fields)
    assert caught.value.non_retryable
    return caught.value.type, caught.value.message


def test_unknown_fields_are_ignored_at_every_depth() -> None:
    parsed = parse(
        PropagateDeletionInput,
        source_id="a",
        authorization={**ALICE, "shoe_size": 43},
        scope={**SCOPE, "region": "eu"},
        colour="red",
    )
    assert (parsed.scope.tenant_id, parsed.authorization.principal_id) == ("t1", "alice")


@pytest.mark.parametrize("generation", [-1, 1.5, "1", True])
def test_a_generation_is_a_whole_number(generation: object) -> None:
    kind, sentence = refused(SetGenerationInput, generation=generation)
    assert kind == "InvalidInput" and sentence.startswith("generation: ")


@pytest.mark.parametrize("fields", [{}, {"generation": 1, "pin": True}])
def test_either_a_generation_or_a_pin_is_set(fields: dict[str, Any]) -> None:
    assert refused(SetGenerationInput, **fields)[1].startswith("input: must have either generation or pin")


@pytest.mark.parametrize(
    "renames",
    [
        [PAIR, PAIR],
        [PAIR, {"from": "a", "to": "c"}],
        [PAIR, {"from": "b", "to": "c"}],
        [PAIR, {"from": "c", "to": "a"}],
        [PAIR, {"from": "c", "to": "b"}],
        [{"from": "a", "to": "a"}],
        [{"from": "", "to": "b"}],
        [{"from": "a"}],
        [None],
        None,
        "a->b",
    ],
    ids=repr,
)
def test_pairs_that_meet_or_move_nothing_are_refused_together(renames: object) -> None:
    assert refused(RenameSourcesInput, renames=renames, authorization=ALICE)[0] == "InvalidInput"


def test_no_pairs_are_a_set_of_pairs() -> None:
    assert parse(RenameSourcesInput, renames=[], authorization=ALICE).renames == ()


@pytest.mark.parametrize("pair", [("a/", "a/b/"), ("a/b/", "a/"), ("a/", "a/")])
def test_prefixes_that_overlap_are_refused(pair: tuple[str, str]) -> None:
    sentence = refused(RenameSourcesInput, prefix={"from": pair[0], "to": pair[1]}, authorization=ALICE)[1]
    assert "overlap" in sentence


@pytest.mark.parametrize("pair", [("folder:x/a", "b"), ("a", "folder:x/a"), ("drive:1", "b"), ("a", "drive:1")])
def test_ids_of_connectors_are_not_moved(pair: tuple[str, str]) -> None:
    named = {"from": pair[0], "to": pair[1]}
    for model, fields in ((RepointSourceInput, named), (RenameSourcesInput, {"renames": [named]})):
        kind, sentence = refused(model, authorization=ALICE, **fields)
        assert kind == "InvalidInput" and "a connector's" in sentence


@pytest.mark.parametrize(
    "pair", [("f", "b/"), ("folder:x/", "b/"), ("a/", "fold"), ("a/", "drive:"), ("d", "b/"), ("a b", "c"), ("", "c")]
)
def test_prefixes_that_could_be_a_connectors_or_of_no_id_are_refused(pair: tuple[str, str]) -> None:
    kind, sentence = refused(RenameSourcesInput, prefix={"from": pair[0], "to": pair[1]}, authorization=ALICE)
    assert kind == "InvalidInput" and sentence.startswith("prefix.")
    parse(RenameSourcesInput, prefix={"from": "folders/", "to": "do/"}, authorization=ALICE)


@pytest.mark.parametrize("size", [0, 4_097, 1.5, "7"])
def test_a_page_of_a_move_has_one_to_4096_records(size: object) -> None:
    assert refused(RepointSourceInput, **PAIR, authorization=ALICE, page_size=size)[1].startswith("page_size: ")


def test_another_tenants_authorization_is_a_scope_error() -> None:
    stranger = {"principal_id": "alice", "tenant_id": "t2"}
    for model, fields in (
        (PropagateDeletionInput, {"source_id": "a"}),
        (RepointSourceInput, PAIR),
        (RenameSourcesInput, {"renames": [PAIR]}),
    ):
        kind, sentence = refused(model, authorization=stranger, **fields)
        assert kind == "ScopeError" and "t2" in sentence


def test_more_than_32_groups_are_not_asserted() -> None:
    many = {**ALICE, "group_ids": [f"g{number}" for number in range(33)]}
    assert "33 groups" in refused(PropagateDeletionInput, source_id="a", authorization=many)[1]


@pytest.mark.parametrize(
    "at", ["2026-01-31", "2026-01-31T12:00:00", "2026-01-31T25:00:00Z", "tomorrow", 1767225600, None]
)
def test_the_end_of_a_grant_is_a_time_with_an_offset(at: object) -> None:
    expiring = [{"principal_id": "bob", "expires_at": at}]
    grants = [{"source_id": "a", "access_version": 1, "expiring": expiring}]
    assert refused(SetSourceAccessInput, grants=grants)[1].startswith("grants.0.expiring.0.expires_at: ")


def test_times_keep_their_instant() -> None:
    end = parse(
        SetSourceAccessInput,
        grants=[{"source_id": "a", "access_version": 1, "everyone": True, "expires_at": "2026-01-31T12:00:00.5+02:00"}],
    )
    assert end.grants[0].expires_at.isoformat() == "2026-01-31T12:00:00.500000+02:00"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"access_version": 0}, "access_version"),
        ({"access_version": None}, "access_version"),
        ({"access_version": 2**53}, "access_version"),
        ({"principal_ids": ["x" * 257]}, "principal_ids"),
        ({"principal_ids": ["a\0b"]}, "principal_ids"),
        ({"expiring": [{"expires_at": "2026-01-31T12:00:00Z"}]}, "expiring"),
        ({"source_id": "a b"}, "source_id"),
    ],
)
def test_grants_that_cannot_be_kept_are_named(changed: dict[str, Any], said: str) -> None:
    grants = [{"source_id": "a", "access_version": 1, "everyone": True, **changed}]
    assert said in refused(SetSourceAccessInput, grants=grants)[1]


def test_a_set_that_names_no_grantees_is_a_slip_and_revokes_nothing() -> None:
    misspelt = {"source_id": "a", "access_version": 2, "principals": ["bob"]}
    assert "grants.0 says nobody" in refused(SetSourceAccessInput, grants=[misspelt])[1]
    pushed = {"source_id": "a", "text": "some", "grants": {"access_version": 2, "groups": ["hr"]}}
    assert "sources.0.grants says nobody" in refused(IngestSourcesInput, sources=[pushed])[1]
    empty = {"source_id": "a", "access_version": 2, "principal_ids": []}
    assert parse(SetSourceAccessInput, grants=[empty]).grants[0].principal_ids == ()


def test_a_request_grants_1024_sources_each_once() -> None:
    def sets(count: int) -> list[dict[str, Any]]:
        return [{"source_id": f"s{number}", "access_version": 1, "everyone": True} for number in range(count)]

    assert len(parse(SetSourceAccessInput, grants=sets(1_024)).grants) == 1_024
    assert refused(SetSourceAccessInput, grants=sets(1_025))[0] == "InvalidInput"
    assert "s0 twice" in refused(SetSourceAccessInput, grants=[*sets(1), *sets(1)])[1]


def test_a_set_may_be_wider_than_a_source_takes_and_says_so() -> None:
    names = [f"p{number}" for number in range(1_024)]
    assert not Grants(principal_ids=tuple(names), access_version=1).is_too_wide
    assert Grants(principal_ids=(*names, "one more"), access_version=1).is_too_wide
    assert not Grants(group_ids=tuple(names[:32]), access_version=1).is_too_wide
    assert Grants(group_ids=tuple(names[:33]), access_version=1).is_too_wide


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"text": None}, "either text or staged"),
        ({"staged": "00000000-0000-0000-0000-000000000000"}, "either text or staged"),
        ({"source_id": "folder:x/a"}, "connector"),
        ({"source_id": "drive:1"}, "connector"),
        ({"source_id": "doc#1"}, "source_id"),
        ({"source_id": ""}, "source_id"),
        ({"text": "ä" * 32_769}, "65,536 bytes"),
        ({"text": "a\0b"}, "NUL"),
        ({"content_hash": "not-a-hash"}, "hexadecimal"),
        ({"content_hash": "0123456789abcdef"}, "hexadecimal"),
        ({"expected_revision": -1}, "expected_revision"),
        ({"lineage": ["doc#1"]}, "lineage"),
        ({"lineage": ["doc [1]"]}, "lineage"),
        ({"lineage": [f"d{number}" for number in range(257)]}, "lineage"),
        ({"metadata": {"a": "x" * 65_536}}, "metadata"),
        ({"metadata": {"a": "\0"}}, "NUL"),
        ({"metadata": {"a": [float("nan")]}}, "numbers that are none"),
        ({"metadata": [1]}, "metadata"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_documents_that_cannot_be_taken_are_named(changed: dict[str, Any], said: str) -> None:
    kind, sentence = refused(IngestSourcesInput, sources=[{"source_id": "doc", "text": "some", **changed}])
    assert kind == "InvalidInput" and said in sentence and sentence.startswith("sources.0")


def test_a_host_hash_is_compared_in_lower_case() -> None:
    source = {"source_id": "doc", "text": "some", "content_hash": "AB" * 32, "lineage": ["doc:erp", "doc:erp#0003"]}
    assert parse(IngestSourcesInput, sources=[source]).sources[0].content_hash == "ab" * 32


def test_a_push_holds_200_documents_and_512_kib_of_text() -> None:
    def some(count: int, text: str) -> list[dict[str, Any]]:
        return [{"source_id": f"s{number}", "text": text} for number in range(count)]

    assert len(parse(IngestSourcesInput, sources=some(200, "x")).sources) == 200
    assert refused(IngestSourcesInput, sources=some(201, "x"))[0] == "InvalidInput"
    assert len(parse(IngestSourcesInput, sources=some(8, "x" * 65_536)).sources) == 8
    assert "text of all sources" in refused(IngestSourcesInput, sources=some(9, "x" * 65_536))[1]
    assert "s0 twice" in refused(IngestSourcesInput, sources=[*some(1, "x"), *some(1, "y")])[1]


def test_a_deletion_names_each_source_once_whatever_was_sent() -> None:
    assert parse(DeleteSourcesInput, source_ids=["b", "a", "b"]).source_ids == ("b", "a")


@pytest.mark.parametrize("field", ["scope", "request_id", "source_ids"])
def test_a_missing_field_is_named(field: str) -> None:
    raw = {"scope": SCOPE, "request_id": "r1", "source_ids": ["a"]}
    del raw[field]
    with pytest.raises(ApplicationError, match=f"^InvalidInput: {field}: Field required") as caught:
        parse_input(DeleteSourcesInput, raw)
    assert caught.value.type == "InvalidInput"
