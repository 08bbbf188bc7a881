"""The console script as a person runs it: a process of its own, with a home of its own."""

import io
import json
import logging
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from workers.cli.app import run

SCRIPT = Path(sys.executable).parent / "headwater"
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    """Runs `headwater` with one home, the small embedder, and nothing of the caller's settings."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER_", "TEMPORAL_"))}
        return inherited | {"HEADWATER_HOME": str(self.home), "HEADWATER_EMBEDDER": "hash:64"} | dict(self.variables)

    def with_variables(self, **variables: str) -> "CommandLine":
        return CommandLine(self.home, {**self.variables, **variables})

    def run(self, *arguments: str | Path) -> Ended:
        """The command, waited for."""
        ran = subprocess.run(
            [SCRIPT, *map(str, arguments)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ended(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def run_here(self, *arguments: str | Path) -> Ended:
        """The same within this process, which saves a second of imports: for commands that only ask."""
        out, err = io.BytesIO(), io.BytesIO()
        with self._taking_over(), io.TextIOWrapper(out) as first, io.TextIOWrapper(err) as second:
            with redirect_stdout(first), redirect_stderr(second):
                status = run([*map(str, arguments)])
            first.flush()
            second.flush()
            return Ended(status, out.getvalue().decode(), err.getvalue().decode())

    @contextmanager
    def _taking_over(self) -> Iterator[None]:
        """What a command sets for its whole process is as before at the end."""
        variables, root = dict(os.environ), logging.getLogger()
        handlers, level = list(root.handlers), root.level
        os.environ.clear()
        os.environ.update(self.environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(variables)
            root.handlers[:] = handlers
            root.setLevel(level)
            logging.captureWarnings(False)

    def json(self, *arguments: str | Path) -> Any:
        """The document of a command that must succeed."""
        return _document(self.run(*arguments, "--json"))

    def json_here(self, *arguments: str | Path) -> Any:
        """The same within this process."""
        return _document(self.run_here(*arguments, "--json"))

    @contextmanager
    def running(self, *arguments: str | Path) -> Iterator["Running"]:
        """The command while it runs; killed at the end if it still does."""
        process = subprocess.Popen(
            [SCRIPT, *map(str, arguments)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def on_terminal(self, *arguments: str | Path) -> Ended:
        """The command with a terminal for its streams; all it wrote is in ``out``."""
        master, slave = pty.openpty()
        variables = self.environment | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
        variables.pop("NO_COLOR", None)
        process = subprocess.Popen(
            [SCRIPT, *map(str, arguments)],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        written = b""
        try:
            while part := _read(master):
                written += part
            return Ended(process.wait(PATIENCE_S), written.decode("utf-8", "replace"), "")
        finally:
            os.close(master)
            if process.poll() is None:
                process.kill()
                process.wait()


def _document(ended: Ended) -> Any:
    assert ended.status == 0, ended.err
    return ended.json


def _read(master: int) -> bytes:
    ready, _, _ = select.select([master], [], [], PATIENCE_S)
    if not ready:
        raise TimeoutError("the command wrote nothing more and did not end")
    try:
        return os.read(master, 65536)
    except OSError:  # Linux says so when the last writer has gone
        return b""


@dataclass(frozen=True)
class Running:
    """A command that has not ended yet."""

    process: "subprocess.Popen[bytes]"

    def said(self, words: str) -> str:
        """Waits until ``words`` stand on stderr; everything said up to that line."""
        stream = self.process.stderr
        assert stream is not None
        return _until(stream, words)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> Ended:
        """Waits for the end."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ended(self.process.returncode, out.decode(), err.decode())


def _until(stream: IO[bytes], words: str) -> str:
    deadline = time.monotonic() + PATIENCE_S
    said = ""
    while words not in said:
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(stream.fileno(), 65536) if ready else b""
        if not part:
            raise AssertionError(f"{words!r} was not said; what was: {said}")
        said += part.decode()
    return said


def files(folder: Path, documents: Mapping[str, str]) -> Path:
    """A folder with these documents."""
    for name, text in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
