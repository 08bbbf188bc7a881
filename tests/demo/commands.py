"""The command line as the demo uses it: each call is a process of its own, in a home of its own."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.demo.failure import DemoFailure
from tests.demo.narration import Narration
from tests.demo.workplace import lent_to

READY: Final = "Ready: "
STARTING_S: Final = 120.0
STOPPING_S: Final = 60.0


@dataclass(frozen=True)
class Headwater:
    """The installed command `headwater`, in one home."""

    home: Path
    narration: Narration

    @property
    def program(self) -> Path:
        # Beside the interpreter, symbolic links unresolved: that is the environment we run in.
        return Path(sys.executable).parent / "headwater"

    @property
    def typed(self) -> str:
        """What a person types in place of `headwater`, from where they stand, to reach this home."""
        return f"HEADWATER_HOME={shlex.quote(os.path.relpath(self.home))} {shlex.quote(os.path.relpath(self.program))}"

    @property
    def whereabouts(self) -> str:
        """Where all that it holds lies."""
        lent = lent_to(self.home)
        if lent is None:
            return str(self.home)
        return f"{self.home}, those of PostgreSQL, whose account cannot enter that, in {lent}"

    @property
    def environment(self) -> dict[str, str]:
        """The caller's, without settings of Headwater or Temporal that were meant for something else."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "TEMPORAL_"))}
        return mine | {"HEADWATER_HOME": str(self.home)}

    def show(self, *arguments: str, lines: int | None = None) -> str:
        """Run a command, show it with its output, and return the output."""
        self.narration.command(arguments)
        output = self._run(arguments, capture=True)
        self.narration.quote(output, lines=lines)
        return output

    def watch(self, *arguments: str) -> None:
        """Run a command that draws on the terminal itself."""
        self.narration.command(arguments)
        self._run(arguments, capture=False)

    def ask(self, *arguments: str) -> Any:
        """The JSON document that a command prints, without showing anything."""
        return json.loads(self._run([*arguments, "--json"], capture=True))

    def _run(self, arguments: Sequence[str], *, capture: bool) -> str:
        process = subprocess.Popen(
            [self.program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else None,
            stderr=None,
            env=self.environment,
            encoding="utf-8",
        )
        try:
            output, _ = process.communicate()
        except BaseException:  # Ctrl-C: the command ends before we do, or it would draw over what we say
            stop(process)
            raise
        if process.returncode != 0:
            raise DemoFailure(
                f"`headwater {arguments[0]}` ended with status {process.returncode}; its reason is above."
            )
        return output or ""

    @contextmanager
    def up(self) -> Iterator[None]:
        """`headwater up` in the background for as long as the block runs."""
        self.narration.command(["up"])
        log_path = self.home.parent / "up.log"
        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                [self.program, "up"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                # Ctrl-C is for us: we stop it after the command that is using it.
                start_new_session=True,
            )
        try:
            self._wait_until_up(process, log_path)
            yield
        finally:
            stop(process)
        if process.returncode != 0:
            raise DemoFailure(f"`headwater up` ended with status {process.returncode}; {log_path} says why.")

    def _wait_until_up(self, process: "subprocess.Popen[bytes]", log_path: Path) -> None:
        deadline = time.monotonic() + STARTING_S
        while READY not in (said := log_path.read_text("utf-8", "replace")):
            if process.poll() is not None:
                last = said.strip().splitlines()[-1:] or ["it said nothing"]
                raise DemoFailure(f"`headwater up` did not start: {last[0]}")
            if time.monotonic() > deadline:
                raise DemoFailure(f"`headwater up` was not ready after {STARTING_S:.0f} s; {log_path} says more.")
            time.sleep(0.05)  # between two looks: it writes into a file, which nobody can wait for


def stop(process: "subprocess.Popen[Any]") -> None:
    """End a process of ours and wait for it; one that does not listen is killed."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOPPING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
