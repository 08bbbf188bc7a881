"""What `--rerank` may name, and where its key comes from."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headwater.errors import HeadwaterError
from headwater.rerankers.bounded import Bounded
from headwater.testing import HashEmbedder
from tests.rerank.server import RunningReranker, answering, running_reranker
from tests.unit.ranked_hits import ranked_hits
from workers.cli.errors import WrongUsage
from workers.cli.reranking import make_reranker
from workers.settings import load_settings

HITS = ranked_hits("one")
Given = Callable[[str, str], None]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    for name in ("KEY_FILE", "KEY_VARIABLE", "ALLOW_PRIVATE"):
        monkeypatch.delenv(f"HEADWATER_RERANK_{name}", raising=False)
    return lambda name, value: monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningReranker]:
    with running_reranker(answering([{"index": 0, "score": 1}])) as running:
        yield running


def make(spec: str) -> Bounded:
    reranker = make_reranker(spec, load_settings(), embedder=HashEmbedder(8))
    assert reranker is not None
    return reranker


def test_none_is_no_reranker_and_an_unknown_one_is_an_error(given: Given) -> None:
    assert make_reranker("none", load_settings(), embedder=HashEmbedder(8)) is None
    for spec in ("something", "listwise", "local:x", "tei:"):
        with pytest.raises(
            WrongUsage,
            match=r"--rerank .* is (not known|given without its URL): use none, local, .* or voyage:URL#MODEL\.$",
        ):
            make(spec)


def test_a_key_is_read_from_its_file_at_each_request(given: Given, tmp_path: Path, server: RunningReranker) -> None:
    file = tmp_path / "key"
    file.write_text(" first\n")
    given("HEADWATER_RERANK_KEY_FILE", str(file))
    server.asked.clear()
    reranker = make(f"tei:{server.url}")
    reranker.rerank("query", HITS)
    file.write_text("second")
    reranker.rerank("query", HITS)
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer first", "Bearer second"]


def test_a_key_is_read_from_the_variable_that_is_named(given: Given, server: RunningReranker) -> None:
    given("JINA_KEY", "key-123")
    given("HEADWATER_RERANK_KEY_VARIABLE", "JINA_KEY")
    server.asked.clear()
    make(f"tei:{server.url}").rerank("query", HITS)
    assert server.asked[0].headers["authorization"] == "Bearer key-123"


def test_without_either_no_key_is_sent(given: Given, server: RunningReranker) -> None:
    server.asked.clear()
    make(f"tei:{server.url}").rerank("query", HITS)
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "cannot be read"), (b"", "not empty"), (b"a\nb", "printable ASCII"), (b"\xff\xfe", "printable"),
     (b"x" * 9_000, "too long")],
)  # fmt: skip
def test_a_file_without_a_key_is_said_before_anything_is_asked(
    content: bytes | None, sentence: str, given: Given, tmp_path: Path, server: RunningReranker
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    given("HEADWATER_RERANK_KEY_FILE", str(file))
    with pytest.raises(HeadwaterError, match=sentence):
        make(f"tei:{server.url}")


def test_a_variable_that_is_not_set_and_two_places_are_wrong_usage(given: Given, tmp_path: Path) -> None:
    given("HEADWATER_RERANK_KEY_VARIABLE", "NOT_SET_ANYWHERE")
    with pytest.raises(WrongUsage, match="NOT_SET_ANYWHERE, which is not set"):
        make("local")
    given("HEADWATER_RERANK_KEY_FILE", str(tmp_path))
    with pytest.raises(WrongUsage, match="not both"):
        make("local")


def test_networks_inside_are_asked_only_when_the_settings_say_so(given: Given) -> None:
    with pytest.raises(
        WrongUsage, match=r"--rerank tei: 10\.0\.0\.1 may not be asked.* with HEADWATER_RERANK_ALLOW_PRIVATE=true"
    ):
        make("tei:https://10.0.0.1")
    with pytest.raises(WrongUsage, match=r"must be asked over https: http is for this machine\.$"):
        make("tei:http://10.0.0.1")
    given("HEADWATER_RERANK_ALLOW_PRIVATE", "true")
    assert make("tei:https://10.0.0.1").is_hosted
