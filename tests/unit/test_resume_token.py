"""The cursor of a move: whose it is is found out before anything is read."""

import base64
import json
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from headwater.contracts import RepointSourceInput
from headwater.contracts.repoint import CURSOR_MAX
from headwater.models import Scope
from workflows.resume_token import resume_token, resumed_after

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
ALICE = {"principal_id": "alice", "tenant_id": "t1"}
BOUND = {"v": 1, "from": "a", "to": "b", "tenant": "t1", "resource": "docs", "corpus": "handbook"}


def request(cursor: str | None) -> RepointSourceInput:
    fields = {"scope": SCOPE, "request_id": "r1", "from": "a", "to": "b", "authorization": ALICE, "cursor": cursor}
    return RepointSourceInput.model_validate(fields)


def encoded(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode()


def refused(cursor: str) -> str:
    with pytest.raises(ApplicationError) as caught:
        resumed_after(request(cursor))
    assert caught.value.type == "InvalidInput" and caught.value.non_retryable
    return caught.value.message


def test_a_cursor_goes_on_where_its_page_ended() -> None:
    assert resumed_after(request(None)) is None
    for after in ("", "derived/1#7#2", "x" * 256 + "#9223372036854775807#32767"):
        assert resumed_after(request(resume_token(SCOPE, "a", "b", after))) == after


def test_the_longest_cursor_fits() -> None:
    wide = Scope(tenant_id="t" * 64, resource_id="r" * 64, corpus_id="c" * 64)
    assert len(resume_token(wide, "a" * 256, "b" * 256, "d" * 256 + "#9223372036854775807#32767")) <= CURSOR_MAX


@pytest.mark.parametrize(
    "changed", [{"from": "x"}, {"to": "x"}, {"tenant": "t2"}, {"resource": "x"}, {"corpus": "x"}, {"more": 1}]
)
def test_a_cursor_of_another_corpus_or_pair_is_refused(changed: dict[str, Any]) -> None:
    assert "another scope or source pair" in refused(encoded({**BOUND, "after": "x", **changed}))


@pytest.mark.parametrize(
    "cursor",
    [
        "garbage",
        "",
        "ä",
        encoded(b"\xff\xfe"),
        encoded(b"{"),
        encoded(b"[" * 3_000),
        encoded([]),
        encoded("text"),
        encoded(BOUND),
        encoded({**BOUND, "after": 7}),
        encoded({**BOUND, "after": None}),
        encoded({**BOUND, "v": 2, "after": "x"}),
        encoded({**BOUND, "v": True, "after": ["x"]}),
    ],
)
def test_what_was_never_given_out_is_no_resume_token(cursor: str) -> None:
    assert "is not a resume token" in refused(cursor)


def test_where_it_begins_may_be_altered() -> None:
    assert resumed_after(request(encoded({**BOUND, "after": "zzz"}))) == "zzz"
