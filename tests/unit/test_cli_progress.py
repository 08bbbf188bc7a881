"""What a running sync shows, and what it does not."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from headwater.errors import StoreError
from workers.cli.console import Output
from workers.cli.progress import Counts, Lines, advance, done, follow, sentence


@dataclass(frozen=True)
class Seen:
    step: str = "embedding"
    listed: int = 10
    skipped: int = 2
    prepared: int = 6
    published: int = 3
    chunks: int = 40
    embedded: int = 10
    read: int = 6
    waits_for: str | None = None


class Recorder:
    every_s = 0.0

    def __init__(self) -> None:
        self.shown: list[Counts] = []

    def show(self, counts: Counts, *, is_last: bool = False) -> None:
        self.shown.append(counts)


def _followed(readings: Sequence[Seen | Exception]) -> list[Counts]:
    """What is shown when the store answers with these in turn."""
    return _watched(readings)[0]


def _watched(readings: Sequence[Seen | Exception]) -> tuple[list[Counts], list[str]]:
    """What is shown, and what is said beside it."""
    recorder, said = Recorder(), list[str]()

    async def scenario() -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        left: Iterator[Seen | Exception] = iter(readings)

        def read() -> Counts:
            answer = next(left, None)
            if answer is None:
                loop.call_soon_threadsafe(over.set)
                return readings[-1] if isinstance(readings[-1], Seen) else Seen()
            if isinstance(answer, Exception):
                raise answer
            return answer

        following = asyncio.create_task(follow(recorder, read, say=said.append))
        await asyncio.wait_for(over.wait(), 10)
        following.cancel()

    asyncio.run(scenario())
    return recorder.shown, said


def test_counts_are_documents_and_chunks() -> None:
    assert done(Seen()) == 5
    assert sentence(Seen(chunks=1200)) == "8 of 10 documents, 6 read, 10 of 1,200 chunks"
    assert sentence(Seen(chunks=0, embedded=0, read=0)) == "8 of 10 documents, 0 read"


def test_the_bar_goes_on_while_documents_are_read_and_while_their_chunks_are_embedded() -> None:
    assert advance(Seen(prepared=0, chunks=0, embedded=0)) == 2
    assert advance(Seen(prepared=8, chunks=0, embedded=0)) == 10
    assert advance(Seen(prepared=8, embedded=10)) == 2.5
    assert advance(Seen(prepared=8, embedded=40)) == 10


def test_documents_that_failed_before_never_pass_the_end() -> None:
    assert done(Seen(listed=4)) == 4
    assert advance(Seen(listed=4, embedded=40)) == 4


def test_the_pass_before_is_not_shown() -> None:
    finished = Seen(skipped=7, published=3)
    ours = Seen(listed=11)
    assert _followed([finished, finished, ours])[0] == ours


def test_a_pass_under_way_is_shown_at_once() -> None:
    assert _followed([Seen()])[0] == Seen()


def test_a_store_that_is_away_for_a_moment_is_asked_again() -> None:
    later = replace(Seen(), published=4)
    assert _followed([Seen(), StoreError("away"), later])[:2] == [Seen(), later]


def test_that_a_sync_waits_is_said_once_for_each_time() -> None:
    away, slow = replace(Seen(), waits_for="It is away."), replace(Seen(), waits_for="It is slow.")
    _, said = _watched([Seen(), away, away, slow, Seen(), StoreError("away"), slow, slow, Seen()])
    assert said == ["The sync waits, and tries again: It is away.", "The sync waits, and tries again: It is slow."]


def test_a_log_ends_with_where_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(Output())
    for step in ("listing", "reading", "embedding"):
        lines.show(Seen(step=step))
    lines.show(Seen(step="done"), is_last=True)
    assert [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()] == ["listing", "done"]
