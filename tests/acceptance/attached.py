"""A command that is attached to a home until its standard input ends. Run as a script; used by the tests as `Attached`."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

_ROOT = Path(__file__).parents[2]


class Attached:
    """The other side of the script: one command in a process of its own."""

    def __init__(
        self,
        home: Path,
        *,
        temporal: bool = False,
        environment: Mapping[str, str] | None = None,
        python: Path | None = None,
        user: int | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [python or sys.executable, __file__, home, "temporal" if temporal else ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "retrieval"), *sys.path]),
                **(environment or {}),
            },
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )

    @property
    def answer(self) -> dict[str, Any]:
        """Waits until it is attached: the addresses, or under `error` the sentence that says why not; and the notices."""
        return dict(json.loads(self._output.readline()))

    def attached(self) -> dict[str, Any]:
        """The addresses."""
        answer = self.answer
        assert "error" not in answer, answer["error"]
        return answer

    def leave(self) -> None:
        """Ends it the ordinary way, and returns when it is gone."""
        self._process.communicate(timeout=30)
        assert self._process.returncode == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=30)

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout


@contextlib.contextmanager
def command(home: Path, *, temporal: bool = False) -> Iterator[dict[str, Any]]:
    """An attached command for the length of a block."""
    attached = Attached(home, temporal=temporal)
    try:
        yield attached.attached()
    finally:
        attached.leave()


def _main(home: str, wish: str) -> None:
    from workers.embedded import EmbeddedError, attach

    notices: list[str] = []
    try:
        with attach(Path(home), temporal=bool(wish), on_message=notices.append) as services:
            known = {**dataclasses.asdict(services), "home": os.fsencode(home).hex(), "notices": notices}
            print(json.dumps(known), flush=True)
            sys.stdin.buffer.read()
    except EmbeddedError as error:
        print(json.dumps({"error": str(error), "notices": notices}), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
