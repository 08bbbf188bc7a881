"""The emulated Drive as a program: what it prints is what one types, and connects it."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine

CHECKOUT = Path(__file__).parents[2]
LAST_LINE = "robot@project.example.test"


@contextmanager
def emulator(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.drive", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": "retrieval"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            if program.poll() is None:
                program.kill()


def commands(program: "subprocess.Popen[str]") -> list[list[str]]:
    """The arguments of the `headwater` commands that it prints."""
    assert program.stdout is not None
    printed: list[list[str]] = []
    for line in program.stdout:
        words = shlex.split(line) if line.startswith("  headwater ") else []
        if words:
            printed.append(words[1:])
        if line.endswith(f"  {LAST_LINE}\n"):
            return printed
    raise AssertionError(f"It ended early: {program.communicate()[1]}")


def said_by(headwater: CommandLine, command: Sequence[str]) -> str:
    ended = headwater.run_here(*command)
    assert ended.status == 0, ended.err
    return ended.out


@pytest.mark.long
def test_the_commands_that_it_prints_connect_it_and_find_something(up: CommandLine, tmp_path: Path) -> None:
    with emulator("--credentials", str(tmp_path / "keys")) as program:
        *adding, testing, syncing, asking = commands(program)
        for command in adding:
            said_by(up, command)
            name = command[3]
            tried = said_by(up, [*testing[:2], name])
            assert "can be reached" in tried and "nobody may find" not in tried
        synced = said_by(up, syncing)
        assert "3 published" in synced
        assert "thirty days" in said_by(up, asking)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=20) == 0
    assert sorted(file.name for file in (tmp_path / "keys").iterdir()) == [
        "authorized-user.json", "service-account.json"
    ]  # fmt: skip


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_is_none_is_named(port: str) -> None:
    with emulator(f"--port={port}") as program:
        _, err = program.communicate(timeout=60)
    assert program.returncode == 2
    assert f"{port} is no port" in err and "Traceback" not in err


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with emulator("--port", str(port)) as program:
            _, err = program.communicate(timeout=60)
    assert program.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use)" in err and "Traceback" not in err
