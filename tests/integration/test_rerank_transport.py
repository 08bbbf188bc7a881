"""Where a reranker's request goes, and that it ends: names, certificates, deadlines and broken connections."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import RerankError, RerankLimitError, ValidationError
from headwater.rerankers import resolve_reranker
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.tei import TeiReranker
from headwater.transport.addresses import AllowedAddresses
from headwater.transport.http import PinnedTransport
from tests.rerank.certificates import Certified, certified
from tests.rerank.server import Asked, RunningReranker, answering, dripping, http, running_reranker, sending
from tests.unit.ranked_hits import ranked_hits

HITS = ranked_hits("passage-text")
GOOD = answering([{"index": 0, "score": 1}])
PLENTY_S = 10.0
SHORT_S = 0.3
LOOPBACK = AllowedAddresses(loopback=True)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningReranker]:
    with running_reranker(GOOD) as running:
        yield running


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return certified("rerank.test", tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def proven(named: Certified) -> Iterator[RunningReranker]:
    """A server that is rerank.test."""
    with running_reranker(GOOD, tls=named.serving) as running:
        yield running


class Names:
    """Leads any name to what comes next, and says how often it was asked."""

    def __init__(self, *led_to: Sequence[str]) -> None:
        self.led_to = list(led_to)
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.led_to.pop(0) if len(self.led_to) > 1 else self.led_to[0]


def plain(server: RunningReranker, *, timeout_s: float = PLENTY_S, **changes: Any) -> TeiReranker:
    return TeiReranker(server.url, allow_loopback=True, timeout_s=timeout_s, **changes)


def secure(
    server: RunningReranker,
    named: Certified,
    names: Names,
    *,
    reach: AllowedAddresses = LOOPBACK,
    host: str = "rerank.test",
) -> TeiReranker:
    transport = PinnedTransport(reach, timeout_s=PLENTY_S, tls=named.trusting, lookup=names)
    return TeiReranker(f"https://{host}:{server.port}", timeout_s=PLENTY_S, transport=transport)


def test_a_request_goes_to_the_address_that_was_looked_up_and_checked(
    proven: RunningReranker, named: Certified
) -> None:
    proven.asked.clear()
    names = Names(["127.0.0.1"])
    assert secure(proven, named, names).rerank("query", HITS) == HITS
    assert names.asked == [("rerank.test", proven.port)], "once: a second answer might be another"
    assert proven.asked[0].headers["host"] == f"rerank.test:{proven.port}"


def test_a_name_that_leads_inside_later_is_refused_then(proven: RunningReranker, named: Certified) -> None:
    proven.asked.clear()
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    reranker = secure(proven, named, names)
    assert reranker.rerank("query", HITS) == HITS
    with pytest.raises(ValidationError, match="leads to an address that may not be asked"):
        reranker.rerank("query", HITS)
    assert len(proven.asked) == 1


@pytest.mark.parametrize(
    ("led_to", "reach"),
    [
        (["127.0.0.1"], AllowedAddresses()),
        (["127.0.0.1"], AllowedAddresses(private=True)),
        (["::ffff:127.0.0.1"], AllowedAddresses(private=True)),
        (["127.0.0.1", "10.0.0.1"], LOOPBACK),
        (["8.8.8.8", "127.0.0.1"], AllowedAddresses()),
        (["no address"], LOOPBACK),
    ],
)
def test_one_address_out_of_reach_is_enough_to_be_refused(
    led_to: list[str], reach: AllowedAddresses, proven: RunningReranker, named: Certified
) -> None:
    proven.asked.clear()
    with pytest.raises(ValidationError, match="may not be asked") as refused:
        secure(proven, named, Names(led_to), reach=reach).rerank("query", HITS)
    assert not proven.asked
    assert not any(address in str(refused.value) for address in led_to)


def test_over_http_only_this_machine_is_asked_whatever_it_is_called(server: RunningReranker) -> None:
    for led_to in ("93.184.215.14", "10.0.0.1"):
        reach = AllowedAddresses(loopback=True, private=True)
        transport = PinnedTransport(reach, timeout_s=PLENTY_S, lookup=Names([led_to]))
        reranker = TeiReranker(f"http://localhost:{server.port}", allow_loopback=True, transport=transport)
        with pytest.raises(ValidationError, match="over http only this machine"):
            reranker.rerank("query", HITS)


def test_the_resolver_of_the_machine_is_asked_by_default(server: RunningReranker) -> None:
    server.asked.clear()
    reranker = TeiReranker(f"http://localhost:{server.port}", allow_loopback=True, timeout_s=PLENTY_S)
    assert reranker.rerank("query", HITS) == HITS
    assert server.asked[0].headers["host"] == f"localhost:{server.port}"


def test_the_next_address_is_tried_when_one_refuses(proven: RunningReranker, named: Certified) -> None:
    proven.asked.clear()
    assert secure(proven, named, Names(["127.0.0.2", "::1", "127.0.0.1"])).rerank("query", HITS) == HITS
    assert len(proven.asked) == 1


def test_a_server_must_prove_its_name(proven: RunningReranker, named: Certified, tmp_path: Path) -> None:
    proven.asked.clear()
    other = certified("other.test", tmp_path)
    names = Names(["127.0.0.1"])
    with pytest.raises(RerankError, match=r"other\.test:\d+ has a certificate that is not trusted: Hostname mismatch"):
        secure(proven, named, names, host="other.test").rerank("query", HITS)
    with pytest.raises(RerankError, match=r"not trusted: self.signed"):
        secure(proven, other, names).rerank("query", HITS)
    untold = PinnedTransport(LOOPBACK, timeout_s=PLENTY_S, lookup=names)
    with pytest.raises(RerankError, match=r"not trusted: self.signed"):
        TeiReranker(f"https://rerank.test:{proven.port}", transport=untold).rerank("query", HITS)
    assert not proven.asked, "who did not prove a name was told nothing"


def silent(_: Asked, stream: socket.socket) -> None:
    while stream.recv(1024):
        pass


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("says nothing", silent),
        ("drips headers", dripping(b"HTTP/1.1 200 OK\r\nx: ", every_s=0.02, endlessly=b"x")),
        ("drips fields", dripping(b"HTTP/1.1 200 OK\r\n", every_s=0.01, endlessly=b"x: y\r\n")),
        ("drips a body", dripping(http(b"x" * 5_000), every_s=0.02)),
        ("drips chunks", dripping(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", every_s=0, endlessly=b"1\r\n \r\n")),
        ("is not ready", dripping(b"", every_s=0.01, endlessly=b"HTTP/1.1 102 Processing\r\n\r\n")),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_come_to_its_end_is_given_up_by_the_deadline(
    name: str, answer: Callable[[Asked, socket.socket], None], server: RunningReranker
) -> None:
    server.given_up.clear()
    server.answer = answer
    begun = time.monotonic()
    with pytest.raises(RerankLimitError, match=r"did not answer within 0\.3 s"):
        plain(server, timeout_s=SHORT_S).rerank("query", HITS)
    assert SHORT_S * 0.9 <= time.monotonic() - begun < SHORT_S + 5, name
    server.answer = GOOD
    if answer is not silent:
        assert server.given_up.wait(30), "the connection was closed"


def test_a_request_that_is_not_read_is_given_up_by_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        reranker = TeiReranker(f"http://127.0.0.1:{port}", allow_loopback=True, timeout_s=SHORT_S)
        with pytest.raises(RerankLimitError, match="did not answer within"):
            reranker.rerank("query", ranked_hits("x" * 16_000_000))


def test_a_handshake_that_does_not_end_is_given_up_by_the_deadline(named: Certified) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        transport = PinnedTransport(LOOPBACK, timeout_s=SHORT_S, tls=named.trusting, lookup=Names(["127.0.0.1"]))
        url = f"https://rerank.test:{listening.getsockname()[1]}"
        with pytest.raises(RerankLimitError, match="did not answer within"):
            TeiReranker(url, timeout_s=SHORT_S, transport=transport).rerank("query", HITS)


def test_a_silent_address_leaves_time_for_the_next(proven: RunningReranker, named: Certified) -> None:
    with socket.create_server(("127.0.0.2", 0), backlog=0) as full:
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:  # the queue is full: one more connection is not answered
            each.setblocking(False)
            each.connect_ex(("127.0.0.2", port))
        try:
            with running_reranker(GOOD, tls=named.serving, port=port) as running:
                transport = PinnedTransport(
                    LOOPBACK, timeout_s=4, tls=named.trusting, lookup=Names(["127.0.0.2", "127.0.0.1"])
                )
                reranker = TeiReranker(f"https://rerank.test:{running.port}", timeout_s=4, transport=transport)
                assert reranker.rerank("query", HITS) == HITS
        finally:
            for each in waiting:
                each.close()


@pytest.mark.parametrize(
    "answer",
    [
        sending(b""),
        sending(b"\x00\x01\x02 scores\r\n\r\n"),
        sending(b"HTTP/1.1 OK\r\n\r\n"),
        sending(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[]"),
        sending(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n[]"),
        sending(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
        sending(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000 + b"\r\n\r\n"),
        sending(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    ],
)
def test_what_is_not_http_is_an_error_that_repeats_nothing_of_it(
    answer: Callable[[Asked, socket.socket], None], server: RunningReranker
) -> None:
    server.answer = answer
    with pytest.raises(RerankError, match="not HTTP") as raised:
        plain(server, api_key="key-123").rerank("query-text", HITS)
    server.answer = GOOD
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert "key-123" not in repr(raised.value) and "scores" not in repr(raised.value)


def test_a_connection_that_is_reset_is_one_that_broke_off(server: RunningReranker) -> None:
    def reset(_: Asked, stream: socket.socket) -> None:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")

    server.answer = reset
    with pytest.raises(RerankLimitError, match="broke off"):
        plain(server).rerank("query", HITS)
    server.answer = GOOD


def test_nobody_there_is_a_limit_error_that_names_the_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(RerankLimitError, match=f"127.0.0.1:{port} could not be reached"):
        TeiReranker(f"http://127.0.0.1:{port}", allow_loopback=True, timeout_s=PLENTY_S).rerank("query", HITS)


@pytest.mark.parametrize("error", [socket.gaierror(-2, "secret"), UnicodeError("label too long"), OSError("secret")])
def test_a_name_that_leads_nowhere_is_one_that_could_not_be_reached(error: Exception) -> None:
    def fail(host: str, port: int) -> Sequence[str]:
        raise error

    for lookup in (fail, Names([])):
        transport = PinnedTransport(AllowedAddresses(), timeout_s=PLENTY_S, lookup=lookup)
        with pytest.raises(RerankLimitError, match=r"rerank\.test could not be reached"):
            TeiReranker("https://rerank.test", transport=transport).rerank("query", HITS)


def test_the_environment_is_not_read(server: RunningReranker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("NO_PROXY", "")
    server.asked.clear()
    assert plain(server).rerank("query", HITS) == HITS
    assert "authorization" not in server.asked[0].headers


def test_nothing_is_kept_between_two_requests(server: RunningReranker) -> None:
    ended = threading.Event()

    def answer(_: Asked, stream: socket.socket) -> None:
        stream.sendall(http(b'[{"index": 0, "score": 1}]', set_cookie="session=1"))
        if not stream.recv(1):
            ended.set()

    server.answer = answer
    server.asked.clear()
    reranker = plain(server)
    for _ in range(2):
        ended.clear()
        reranker.rerank("query", HITS)
        assert ended.wait(30), "the connection was closed"
    server.answer = GOOD
    assert "cookie" not in server.asked[1].headers


def test_neither_key_nor_text_is_logged_at_any_level(
    proven: RunningReranker, named: Certified, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport = PinnedTransport(LOOPBACK, timeout_s=PLENTY_S, tls=named.trusting, lookup=Names(["127.0.0.1"]))
    reranker = TeiReranker(f"https://rerank.test:{proven.port}", api_key="key-123", transport=transport)
    reranker.rerank("query-text", HITS)
    proven.answer = answering([], "503 Service Unavailable")
    with pytest.raises(RerankError):
        reranker.rerank("query-text", HITS)
    proven.answer = GOOD
    for secret in ("key-123", "query-text", "passage-text"):
        assert secret not in caplog.text


def test_threads_may_share_it(server: RunningReranker) -> None:
    reranker = plain(server)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: reranker.rerank("query", HITS), range(40))) == [HITS] * 40


def test_a_host_may_bring_a_transport_of_its_own() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url == "https://rerank.test/v1/rerank"
        return httpx.Response(200, json={"results": [{"index": 0, "score": 1}]})

    reranker = TeiReranker("https://rerank.test/v1", transport=httpx.MockTransport(answer))
    assert reranker.rerank("query", HITS) == HITS


def test_what_such_a_transport_reaches_is_its_own_business() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=[{"index": 0, "score": 1}]))
    for url in ("http://tei:80", "http://10.0.0.1", "https://127.0.0.1"):
        assert TeiReranker(url, transport=transport).rerank("query", HITS) == HITS
        with pytest.raises(ValidationError):
            TeiReranker(url)
    with pytest.raises(ValidationError, match="no user"):
        TeiReranker("http://u:p@tei:80", transport=transport)


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=80)
    | st.builds(
        lambda good, at, cut, other: good[:at] + other + good[at + cut :],
        st.just(http(b'[{"index": 0, "score": 1}]')),
        st.integers(0, 120),
        st.integers(0, 6),
        st.binary(max_size=4),
    )
)
def test_whatever_bytes_are_answered_there_is_an_order_or_an_error_of_rerankers(
    server: RunningReranker, raw: bytes
) -> None:
    server.answer = sending(raw)
    try:
        assert plain(server).rerank("query", HITS) == HITS
    except (RerankError, RerankLimitError) as error:
        assert "TeiReranker at 127.0.0.1" in str(error)
    finally:
        server.answer = GOOD


def test_a_bounded_one_fails_with_errors_of_rerankers_only(server: RunningReranker) -> None:
    reranker = resolve_reranker(f"tei:{server.url}", allow_loopback=True, timeout_s=SHORT_S)
    assert reranker is not None
    server.answer = silent
    with pytest.raises(RerankLimitError):
        reranker.rerank("query", HITS)
    inside = TeiReranker(
        "https://rerank.test", transport=PinnedTransport(AllowedAddresses(), timeout_s=1, lookup=Names(["::1"]))
    )
    with pytest.raises(RerankError, match="may not be asked"):
        Bounded(inside).rerank("query", HITS)
    server.answer = GOOD
