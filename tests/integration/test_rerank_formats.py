"""Rerankers over HTTP: what they are asked, and how strictly their answers are read. Against a server on loopback."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import RerankError, RerankLimitError, ValidationError
from headwater.rerankers import resolve_reranker
from headwater.rerankers.openai_compatible import OpenAiCompatibleReranker
from headwater.rerankers.tei import TeiReranker
from headwater.rerankers.voyage import VoyageReranker
from headwater.rerankers.wire import WireReranker
from headwater.testing import check_reranker
from tests.rerank.server import RunningReranker, answering, by_words, http, in_order, running_reranker
from tests.unit.ranked_hits import ranked_hits, ranks

HITS = ranked_hits("one", "two", "three")
PLENTY_S = 10.0  # a busy machine must not fail what is not about time


@dataclass(frozen=True)
class Format:
    """How one kind of reranker is asked and answers."""

    name: str
    make: Callable[..., WireReranker]
    spec: str
    texts_key: str
    score_key: str
    form: Callable[[Any], Any]
    asked: dict[str, Any]  # beside the query and the texts

    def __str__(self) -> str:
        return self.name

    def of(self, scores: Sequence[float]) -> Any:
        return self.form(in_order(scores, self.score_key))


FORMATS = [
    Format("tei", TeiReranker, "tei", "texts", "score", lambda items: items, {"raw_scores": False}),
    Format("tei-results", TeiReranker, "tei", "texts", "score", lambda items: {"results": items}, {"raw_scores": False}),
    Format("openai", OpenAiCompatibleReranker, "openai-compatible", "documents", "relevance_score",
           lambda items: {"results": items, "usage": {}}, {}),
    Format("voyage", VoyageReranker, "voyage", "documents", "relevance_score",
           lambda items: {"object": "list", "data": items}, {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[RunningReranker]:
    with running_reranker(answering([])) as running:
        yield running


def made(form: Format, server: RunningReranker, **changes: Any) -> WireReranker:
    settings = {"api_key": "key-123", "allow_loopback": True, "timeout_s": PLENTY_S}
    return form.make(server.url, **{**settings, **changes})


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_passages_come_in_the_order_of_their_scores_and_equal_ones_as_they_were(
    form: Format, server: RunningReranker
) -> None:
    hits = ranked_hits(*"abcde")
    for scores, order in [
        ((0.1, 0.9, 0.5, 0.9, -2), [2, 4, 3, 1, 5]),
        ((0, 0, 0, 0, 0), [1, 2, 3, 4, 5]),
        ((1, 1.5, -0.0, 0, 1e300), [5, 2, 1, 3, 4]),
    ]:
        server.answer = answering(form.of(scores))
        found = made(form, server).rerank("query", hits)
        assert ranks(found) == order
        assert all(any(hit is given for given in hits) for hit in found)


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_one_request_asks_for_all_in_its_format_and_nothing_more(form: Format, server: RunningReranker) -> None:
    server.asked.clear()
    server.answer = answering(form.of((3, 2, 1)))
    made(form, server).rerank("Wie geht's? 年假", ranked_hits("eins", "zwei \u2028 \x01", "drei"))
    made(form, server, model="the/model").rerank("q", HITS)
    without, with_model = server.asked
    texts = ["eins", "zwei \u2028 \x01", "drei"]
    assert without.json == {"query": "Wie geht's? 年假", form.texts_key: texts, **form.asked}
    assert with_model.json == {
        "query": "q", form.texts_key: ["one", "two", "three"], "model": "the/model", **form.asked
    }  # fmt: skip
    for asked in server.asked:
        assert asked.target == "/rerank" and asked.raw.startswith(b"POST ")
        assert asked.headers["content-type"] == "application/json" and asked.headers["accept-encoding"] == "identity"
        assert asked.headers["host"] == f"127.0.0.1:{server.port}"
        assert b"top_k" not in asked.raw and b"top_n" not in asked.raw and b"cookie" not in asked.raw.lower()


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/a%2Fb/v2", "/", ""])
def test_rerank_is_added_to_the_path(path: str, server: RunningReranker) -> None:
    server.asked.clear()
    server.answer = answering([{"index": 0, "score": 1}])
    TeiReranker(server.url + path, allow_loopback=True, timeout_s=PLENTY_S).rerank("query", HITS[:1])
    assert server.asked[0].target == f"{path.rstrip('/')}/rerank"


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_no_passages_are_not_asked_about(form: Format, server: RunningReranker) -> None:
    server.asked.clear()
    assert made(form, server).rerank("query", []) == [] and not server.asked


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_each_passes_the_suite(form: Format, server: RunningReranker) -> None:
    server.answer = by_words(form.of, form.texts_key)
    check_reranker(lambda: made(form, server))


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_a_spec_names_it_with_its_model(form: Format, server: RunningReranker) -> None:
    server.asked.clear()
    server.answer = answering(form.of((1, 3, 2)))
    settings: dict[str, Any] = {"api_key": "key-123", "allow_loopback": True, "timeout_s": PLENTY_S}
    for spec in (f"{form.spec}:{server.url}/v1#org/model:7b", f"{form.spec}:{server.url}/v1"):
        reranker = resolve_reranker(spec, **settings)
        assert reranker is not None and reranker.is_hosted
        assert ranks(reranker.rerank("query", HITS)) == [2, 3, 1]
    assert [asked.json.get("model") for asked in server.asked] == ["org/model:7b", None]


def broken(form: Format) -> dict[str, Any]:
    """Answers that are not one finite score for each of three passages."""
    key = form.score_key
    good = [{"index": index, key: 0.5} for index in range(3)]
    return {
        "short": form.form(good[:2]),
        "long": form.form([*good, {"index": 3, key: 0.1}]),
        "empty": form.form([]),
        "duplicate": form.form([*good[:2], good[0]]),
        "out of range": form.form([*good[:2], {"index": 3, key: 0.5}]),
        "negative": form.form([*good[:2], {"index": -1, key: 0.5}]),
        "index true": form.form([good[0], {"index": True, key: 0.5}, good[2]]),
        "index float": form.form([good[0], {"index": 1.0, key: 0.5}, good[2]]),
        "index text": form.form([good[0], {"index": "1", key: 0.5}, good[2]]),
        "index null": form.form([good[0], {"index": None, key: 0.5}, good[2]]),
        "no index": form.form([good[0], {key: 0.5}, good[2]]),
        "score null": form.form([*good[:2], {"index": 2, key: None}]),
        "score true": form.form([*good[:2], {"index": 2, key: True}]),
        "score text": form.form([*good[:2], {"index": 2, key: "0.5"}]),
        "score list": form.form([*good[:2], {"index": 2, key: [0.5]}]),
        "no score": form.form([*good[:2], {"index": 2}]),
        "score of another format": form.form([{"index": index, "relevance" + key: 0.5} for index in range(3)]),
        "not objects": form.form([0.5, 0.5, 0.5]),
        "nested": form.form([good]),
        "NaN": json.dumps(form.form([*good[:2], {"index": 2, key: math.nan}])).encode(),
        "Infinity": json.dumps(form.form([*good[:2], {"index": 2, key: math.inf}])).encode(),
        "1e999": json.dumps(form.form([*good[:2], {"index": 2, key: 7}])).replace(" 7", " 1e999").encode(),
        "huge integer": form.form([*good[:2], {"index": 2, key: 10**400}]),
        "5,000 digits": json.dumps(form.form([*good[:2], {"index": 2, key: 7}]))
        .replace(" 7", " " + "7" * 5_000)
        .encode(),
        "repeated key": json.dumps(form.form(good)).replace('"index": 1', '"index": 1, "index": 1').encode(),
        "no list": form.form({"0": 0.5}),
        "null": None,
        "text": "scores",
        "number": 1,
        "error": {"error": "overloaded"},
        "no JSON": b"<html>",
        "nothing": b"",
        "cut short": json.dumps(form.of((1, 2, 3))).encode()[:-1],
        "two values": json.dumps(form.of((1, 2, 3))).encode() * 2,
        "no UTF-8": b'[{"index": 0, "score": 1, "\xff": 1}]',
        "UTF-16": json.dumps(form.of((1, 2, 3))).encode("utf-16"),
        "deep": b"[" * 60_000,
    }


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_anything_but_one_finite_score_for_each_passage_is_an_error(form: Format, server: RunningReranker) -> None:
    reranker = made(form, server)
    for name, answer in broken(form).items():
        server.answer = answering(answer)
        with pytest.raises(RerankError) as refused:
            reranker.rerank("query-text", ranked_hits("passage-text", "two", "three"))
            pytest.fail(f"{name} was taken")
        said = str(refused.value)
        assert f"{type(reranker).__name__} at 127.0.0.1:{server.port} answered" in said, name
        for secret in ("key-123", "query-text", "passage-text"):
            assert secret not in repr(refused.value), name


def test_envelopes_are_not_mixed_up(server: RunningReranker) -> None:
    for form in FORMATS[2:]:
        items = in_order((1, 2, 3), form.score_key)
        for answer in (items, {"data" if form.spec != "voyage" else "results": items}):
            server.answer = answering(answer)
            with pytest.raises(RerankError, match="another form"):
                made(form, server).rerank("query", HITS)


@pytest.mark.parametrize(
    "status", ["201 Created", "299 Fine"]
)  # fmt: skip
def test_any_success_is_one(status: str, server: RunningReranker) -> None:
    server.answer = answering([{"index": 0, "score": 1}], status)
    assert TeiReranker(server.url, allow_loopback=True, timeout_s=PLENTY_S).rerank("query", HITS[:1]) == HITS[:1]


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("301 Moved Permanently", "answered 301: it redirects"),
        ("307 Temporary Redirect", "answered 307: it redirects"),
        ("308 Permanent Redirect", "answered 308: it redirects"),
        ("400 Bad Request", "answered 400"),
        ("401 Unauthorized", "answered 401: give it a key"),
        ("403 Forbidden", "answered 403: give it a key"),
        ("404 Not Found", "answered 404: look at the path"),
        ("413 Payload Too Large", "answered 413: ask for fewer"),
        ("429 Too Many Requests", "answered 429: it is asked too often"),
        ("500 Internal Server Error", "answered 500"),
        ("503 Service Unavailable", "answered 503"),
        ("304 Not Modified", "answered 304"),
    ],
)
def test_any_other_status_is_an_error_that_says_nothing_of_the_body(
    status: str, sentence: str, server: RunningReranker
) -> None:
    server.asked.clear()
    server.answer = answering(
        [{"index": 0, "score": 1, "secret": "key-123"}], status, location=f"{server.url}/elsewhere"
    )
    with pytest.raises(RerankError, match=sentence) as refused:
        TeiReranker(server.url, api_key="key-123", allow_loopback=True, timeout_s=PLENTY_S).rerank("query", HITS[:1])
    assert len(server.asked) == 1, "a redirect is not followed, and nothing is asked twice"
    assert "key-123" not in repr(refused.value) and "elsewhere" not in repr(refused.value)


def test_an_answer_of_the_limit_is_read_and_one_byte_more_is_not(server: RunningReranker) -> None:
    reranker = TeiReranker(server.url, allow_loopback=True, timeout_s=PLENTY_S)
    body = json.dumps([{"index": 0, "score": 1}]).encode()
    server.answer = answering(body.ljust(65_536))
    assert reranker.rerank("query", HITS[:1]) == HITS[:1]
    server.answer = answering(body.ljust(65_537))
    with pytest.raises(RerankLimitError, match="65,536 bytes"):
        reranker.rerank("query", HITS[:1])


def test_an_answer_without_an_end_is_given_up(server: RunningReranker) -> None:
    def endless(_: object, stream: Any) -> None:
        stream.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            stream.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")

    server.given_up.clear()
    server.answer = endless
    with pytest.raises(RerankLimitError, match="65,536 bytes"):
        TeiReranker(server.url, allow_loopback=True, timeout_s=PLENTY_S).rerank("query", HITS[:1])
    assert server.given_up.wait(30), "the connection was closed"


def test_a_compressed_answer_is_refused(server: RunningReranker) -> None:
    import gzip

    body = gzip.compress(json.dumps([{"index": 0, "score": 1}]).encode())
    server.answer = lambda _, stream: stream.sendall(http(body, content_encoding="gzip"))
    with pytest.raises(RerankError, match="compressed"):
        TeiReranker(server.url, allow_loopback=True, timeout_s=PLENTY_S).rerank("query", HITS[:1])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answer=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["index", "score", "results"]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["index", "score", "relevance_score", "results", "data"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_is_answered_each_passage_comes_once_or_an_error(answer: Any, server: RunningReranker) -> None:
    server.answer = answering(answer)
    for form in FORMATS[1:]:
        try:
            found = made(form, server).rerank("query", HITS)
        except RerankError:
            continue
        assert sorted(ranks(found)) == [1, 2, 3]


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_a_key_is_sent_only_when_there_is_one(form: Format, server: RunningReranker) -> None:
    server.asked.clear()
    server.answer = answering(form.of((1, 2, 3)))
    keys = iter(["first", "second"])
    given: list[Any] = ["key-123", lambda: next(keys), None][: 2 if form.name == "voyage" else 3]
    for key in given:
        reranker = made(form, server, api_key=key)
        reranker.rerank("query", HITS)
    reranker = made(form, server, api_key=lambda: next(keys))
    reranker.rerank("query", HITS)
    sent = [asked.headers.get("authorization") for asked in server.asked]
    expected: list[str | None] = ["Bearer key-123", "Bearer first", None, "Bearer second"]
    assert sent == [value for value in expected if value is not None or form.name != "voyage"]


def test_voyage_needs_a_key() -> None:
    with pytest.raises(ValidationError, match="needs an api_key"):
        resolve_reranker("voyage:https://rerank.example/v1#m")


@pytest.mark.parametrize("key", ["", "a\nb", "a\r\nX-Other: 1", "a b", "ключ", "a\x00", "key\n", 3])
def test_a_key_that_could_end_its_header_is_refused_without_being_said(key: Any, server: RunningReranker) -> None:
    for api_key in (key, lambda: key):
        server.asked.clear()
        with pytest.raises(ValidationError, match="api_key must be") as refused:
            made(FORMATS[0], server, api_key=api_key).rerank("query", HITS)
        assert not server.asked
        assert not key or str(key) not in str(refused.value)


def test_a_key_is_not_shown() -> None:
    reranker = VoyageReranker("https://rerank.example/v1", api_key="key-123")
    assert repr(reranker) == "<VoyageReranker at rerank.example>"
    assert "key-123" not in repr(vars(reranker))
    bounded = resolve_reranker("voyage:https://rerank.example/v1", api_key="key-123")
    assert "key-123" not in repr(bounded) and "key-123" not in repr(vars(bounded))


@pytest.mark.parametrize(
    "spec",
    ["tei:rerank.example", "tei:http://rerank.example", "tei:https://u:p@rerank.example", "tei:https://a.example/#",
     "tei:https://a.example#m\n", "tei:https://a.example#a#\x07", "openai-compatible:ftp://a.example#m",
     "openai-compatible:", "tei:", "tei", "tei:http://127.0.0.1:8080"],
)  # fmt: skip
def test_a_spec_with_a_bad_url_or_model_is_refused(spec: str) -> None:
    with pytest.raises(ValidationError):
        resolve_reranker(spec)
