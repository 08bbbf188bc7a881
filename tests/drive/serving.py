"""A running emulator: a thread that serves a world on a free port of this machine's loopback."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tests.drive.app import DriveApp
from tests.drive.faults import Faults
from tests.drive.operations import Operations
from tests.drive.passage import HANG_UP
from tests.drive.request_log import RequestLog
from tests.drive.tokens import Tokens
from tests.drive.world import World

_START_S: Final = 30
_IDLE_S: Final = 240
"""As Google does: a connection that waits for a while is not a fault, and must not look like one."""


@dataclass(frozen=True)
class RunningDrive:
    """A served world, with everything by which a test turns it."""

    url: str
    """Without a slash at its end: what a client takes for Google's root."""

    world: World
    log: RequestLog
    faults: Faults
    tokens: Tokens = field(repr=False)
    operations: Operations

    @property
    def token_uri(self) -> str:
        return f"{self.url}/token"

    def token(self, email: str) -> str:
        """An access token for a user, which stays good until it is revoked."""
        return self.tokens.issue(email)

    def authorized_user(self, email: str) -> dict[str, Any]:
        """The credentials of an OAuth user, as they stand in the user's file."""
        return self.tokens.authorized_user(email, token_uri=self.token_uri)

    def authorized_user_file(self, folder: Path, email: str) -> Path:
        """The same, in a file."""
        return _written(folder / "authorized-user.json", self.authorized_user(email))

    def service_account(self, email: str, *, may_impersonate: tuple[str, ...] = ()) -> dict[str, Any]:
        """The key of a service account, which is a user of the world too, as it stands in its file."""
        return self.tokens.service_account(email, token_uri=self.token_uri, may_impersonate=may_impersonate)

    def service_account_file(self, folder: Path, email: str, *, may_impersonate: tuple[str, ...] = ()) -> Path:
        """The same, in a file."""
        key = self.service_account(email, may_impersonate=may_impersonate)
        return _written(folder / "service-account.json", key)


def _written(path: Path, credentials: dict[str, Any]) -> Path:
    path.write_text(json.dumps(credentials), "utf-8")
    return path


@contextmanager
def running_drive(world: World, *, port: int = 0) -> Iterator[RunningDrive]:
    """Serve a world while the context lasts.

    It ends with an `AssertionError` where an answer was sent that Drive's schemas do not allow, so that every test which
    uses the emulator holds it against the discovery document.
    """
    tokens, faults, log = Tokens(world.clock), Faults(), RequestLog()
    app = DriveApp(world, tokens=tokens, faults=faults, log=log)
    with _listener(port) as listener:
        world.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with _serving(app.application(), listener):
            yield RunningDrive(world.base_url, world, log, faults, tokens, app.operations)
    assert log.violations == [], f"The emulator sent what Drive does not: {log.violations}"


def _listener(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is spelled out; with it each answer takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    return listener


@contextmanager
def _serving(application: Starlette, listener: socket.socket) -> Iterator[None]:
    async def with_hang_up(scope: Scope, receive: Receive, send: Send) -> None:
        await application({**scope, HANG_UP: partial(server.hang_up, scope.get("client"))}, receive, send)

    server = _Server(
        uvicorn.Config(
            with_hang_up,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=_IDLE_S,
        )
    )
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="drive-emulator", daemon=True)
    thread.start()
    try:
        if not server.is_ready.wait(timeout=_START_S):
            raise TimeoutError(f"The Drive emulator did not start within {_START_S} s.")
        yield
    finally:
        server.stop()
        thread.join(timeout=_START_S)


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it is ready and stops when it is told, not at its next look at a flag."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self.is_ready.set()

    async def main_loop(self) -> None:
        while not self._stopped.is_set():
            await self.on_tick(0)  # writes the header Date anew
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), timeout=1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answers that are late are not waited for, nor clients that hold on to their connections."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def hang_up(self, client: tuple[str, int] | None) -> None:
        """End the connection of a client without another byte."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, H11Protocol) and connection.client == client:
                connection.transport.abort()

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
