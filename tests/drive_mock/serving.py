"""google-drive-mock as a process of its own on loopback, which ends with the context and with us if we are killed."""

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.request import ProxyHandler, build_opener

from tests.drive_mock.installing import Installed

# The two access tokens that the mock takes. It knows nobody: whoever holds one sees and does everything.
READER: Final = "valid-token"
WRITER: Final = "another-valid-token"
OUTDATED: Final = "outdated-token"
"""What it refuses."""

_SERVE: Final = Path(__file__).with_name("serve.js")
_START_S: Final = 60
_STOP_S: Final = 10
# Some environments send everything through a proxy, to which this machine's own ports mean nothing.
_open = build_opener(ProxyHandler({})).open


@dataclass(frozen=True, slots=True)
class RunningMock:
    url: str
    """Without a slash at its end."""

    pid: int

    def clear(self) -> None:
        """Everything that was put there goes. The tokens of its change feed begin anew too."""
        with _open(f"{self.url}/debug/clear", data=b"", timeout=_START_S):
            pass

    def requests(self) -> list[str]:
        """All that was asked of it so far: `GET /drive/v3/files/1AbC?alt=media`."""
        with _open(f"{self.url}/requests", timeout=_START_S) as answer:
            told: list[str] = json.load(answer)
        return told

    def authorized_user(self, token: str = READER) -> dict[str, Any]:
        """An OAuth user's file of credentials, by which Google's library gets this access token."""
        return {
            "type": "authorized_user",
            "client_id": "mock.apps.test",
            "client_secret": "of no use",
            "refresh_token": token,
            "token_uri": f"{self.url}/token",
        }


@contextmanager
def running_mock(installed: Installed) -> Iterator[RunningMock]:
    """Serve an empty mock while the context lasts."""
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            [installed.node, _SERVE, installed.folder],
            stdin=subprocess.PIPE,  # which nobody else holds: when we are gone, it ends
            stdout=subprocess.PIPE,
            stderr=words,
            env={name: value for name, value in os.environ.items() if not name.startswith("NODE_")},
        )
        try:
            yield RunningMock(f"http://127.0.0.1:{_port(process, words)}", process.pid)
        finally:
            _stop(process)


def _port(process: subprocess.Popen[bytes], words: Any) -> int:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_S)
    line = process.stdout.readline() if ready else b""
    if not line:
        words.seek(0)
        raise AssertionError(f"google-drive-mock did not start: {words.read().decode(errors='replace')}")
    return int(line)


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


__all__ = ["OUTDATED", "READER", "WRITER", "RunningMock", "running_mock"]
