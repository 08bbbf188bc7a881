"""A document can take down the process that reads it, and nothing else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from activities.parsers import ParsedDocument, ParseFailure
from activities.parsers.pool import ParserPool
from headwater.chunking import Heading
from headwater.errors import TransientError

HOSTILE = "tests.integration.hostile_parser:parse"
CHARS = 1 << 30


@pytest.fixture
def pool() -> Iterator[ParserPool]:
    with ParserPool(1, wall_s=20, memory_bytes=256 << 20, parse=HOSTILE) as pool:
        yield pool


def read(pool: ParserPool, name: str, data: bytes = b"") -> str:
    """The text of a document that must be readable."""
    document = pool.parse(name, data, None, CHARS)
    assert isinstance(document, ParsedDocument), document
    return document.text


def reason(pool: ParserPool, name: str) -> str:
    failure = pool.parse(name, b"", None, CHARS)
    assert isinstance(failure, ParseFailure) and failure.state == "failed"
    return failure.reason


def process_of(pool: ParserPool) -> int:
    return int(read(pool, "").split()[1])


def wait_until(condition: Callable[[], bool], *, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)  # between two looks


def is_gone(pid: int) -> bool:
    """Whether the process has ended; one that nobody has taken away yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except FileNotFoundError:
        return True


def test_one_process_stays_warm_for_many_documents(pool: ParserPool) -> None:
    first, second = read(pool, "", b"one").split(), read(pool, "", b"two").split()
    assert (first[0], second[0]) == ("1", "2")
    assert first[1] == second[1]
    assert (first[2], second[2]) == ("one", "two")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memory", "needs more than 256 MiB of memory"),
        ("crash", "crashes the parser (SIGSEGV)"),
        ("recursion", "RecursionError"),
        ("exit", "ended by itself (status 3)"),
        ("raise", "ValueError"),
        ("killed", "killed twice (SIGKILL)"),
        ("lie", "an answer that cannot be right"),
    ],
)
def test_a_hostile_document_fails_alone(pool: ParserPool, name: str, said: str) -> None:
    assert said in reason(pool, name)
    assert read(pool, "", b"next").endswith(" next")


def test_an_exceptions_message_is_not_repeated(pool: ParserPool) -> None:
    assert "secret" not in reason(pool, "raise")


@pytest.mark.parametrize("name", ["loop", "sleep"])
def test_a_document_that_never_ends_is_killed_at_the_wall_clock_limit(name: str) -> None:
    with ParserPool(1, wall_s=0.3, parse=HOSTILE) as pool:
        victim = process_of(pool)
        assert reason(pool, name) == "Reading it took longer than 0.3 s."
        assert is_gone(victim)
        assert process_of(pool) != victim


def test_a_loop_ends_at_its_processor_limit_though_nobody_watches_the_clock() -> None:
    with ParserPool(1, wall_s=60, cpu_s=0, parse=HOSTILE) as pool:
        assert reason(pool, "loop") == "Reading it took more than 0 s of processor time."


def test_the_processor_limit_counts_for_each_document_anew() -> None:
    """A process that has used its second is not killed for the next document's work."""
    with ParserPool(1, cpu_s=1) as pool:
        large = b"<p>text</p>" * 40_000
        for _ in range(15):
            assert isinstance(pool.parse("a.html", large, None, CHARS), ParsedDocument)


@pytest.mark.parametrize("name", ["noise", "stdin"])
def test_what_a_parser_prints_or_reads_does_not_touch_its_answer(pool: ParserPool, name: str) -> None:
    assert read(pool, name, b"answer").endswith(" answer")


@pytest.mark.parametrize("name", ["killed once", "memory once"])
def test_what_an_earlier_document_left_behind_is_not_held_against_the_next(pool: ParserPool, name: str) -> None:
    read(pool, "")
    assert read(pool, name, b"innocent").startswith("1 ")


def test_a_process_that_died_between_two_documents_costs_none(pool: ParserPool) -> None:
    victim = process_of(pool)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: is_gone(victim))
    assert process_of(pool) != victim


def test_32_mib_go_both_ways() -> None:
    data = b"0123456789abcdef" * (2 << 20)
    with ParserPool(1, parse=HOSTILE) as pool:
        assert read(pool, "echo", data).encode() == data


def test_nothing_stays_open_after_deaths_and_a_close() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with ParserPool(2, parse=HOSTILE) as pool:
        for _ in range(3):
            reason(pool, "exit")
        read(pool, "")
    assert len(os.listdir("/proc/self/fd")) == before


def test_threads_share_the_processes_and_each_gets_its_own_answer() -> None:
    with ParserPool(2, parse=HOSTILE) as pool, ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda number: read(pool, "", b"%d" % number), range(200)))
    assert [text.split()[2] for text in texts] == [str(number) for number in range(200)]
    assert len({text.split()[1] for text in texts}) <= 2


def test_processes_are_started_only_when_they_are_needed() -> None:
    with ParserPool(8, parse=HOSTILE) as pool:
        assert len({process_of(pool) for _ in range(20)}) == 1


def test_closing_kills_what_runs_and_blames_no_document() -> None:
    pool = ParserPool(1, wall_s=60, parse=HOSTILE)
    victim = process_of(pool)
    with ThreadPoolExecutor(2) as threads:
        running = threads.submit(pool.parse, "sleep", b"", None, CHARS)
        waiting = threads.submit(pool.parse, "sleep", b"", None, CHARS)
        wait_until(lambda: running.running() and waiting.running())
        pool.close()
        for call in (running, waiting):
            with pytest.raises(TransientError, match="read again"):
                call.result(timeout=10)
    assert is_gone(victim)
    with pytest.raises(TransientError):
        pool.parse("", b"", None, CHARS)


def test_a_pool_that_cannot_start_says_so_and_blames_no_document() -> None:
    with (
        ParserPool(1, parse="tests.unit.no_such_module:parse") as pool,
        pytest.raises(TransientError, match="could not start"),
    ):
        pool.parse("", b"", None, CHARS)


def test_processes_of_a_killed_worker_are_gone_at_once(tmp_path: Path) -> None:
    """With kill -9 no code of the worker's runs any more: its processes see their channel hang up, even in a loop."""
    script = (
        "import sys, threading\n"
        f"sys.path[:0] = {[os.getcwd(), os.path.join(os.getcwd(), 'retrieval')]!r}\n"
        "from activities.parsers.pool import ParserPool\n"
        f"pool = ParserPool(2, wall_s=60, parse={HOSTILE!r})\n"
        "pids = [pool.parse('', b'', None, 100).text.split()[1]]\n"
        "threading.Thread(target=pool.parse, args=('loop', b'', None, 100)).start()\n"
        "pids.append(pool.parse('', b'', None, 100).text.split()[1])\n"
        "print(*pids, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        pids = [int(pid) for pid in worker.stdout.readline().split()]
        os.kill(worker.pid, signal.SIGKILL)
    assert len(pids) == 2
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def test_headings_keep_their_place_and_level() -> None:
    with ParserPool(1) as pool:
        document = pool.parse("a.html", "<p>😀</p><h2>Zwei</h2><p># drei</p>".encode(), None, CHARS)
    assert isinstance(document, ParsedDocument)
    assert document.headings == [Heading(start=3, level=2, title="Zwei")]
    assert document.text[3:7] == "Zwei"
    assert document.is_markdown


def test_a_text_above_the_callers_limit_is_too_large() -> None:
    with ParserPool(1) as pool:
        assert isinstance(pool.parse("a.txt", b"12345", None, 5), ParsedDocument)
        failure = pool.parse("a.txt", b"123456", None, 5)
    assert failure == ParseFailure("too_large", "It has more than 5 characters of text.")


def test_names_that_are_no_unicode_are_read_all_the_same() -> None:
    with ParserPool(1) as pool:
        assert isinstance(pool.parse(os.fsdecode(b"caf\xe9.md"), b"# x", None, CHARS), ParsedDocument)
