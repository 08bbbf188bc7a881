"""The wire between a retriever and Postgres, which a test may stop or cut at a statement of its choice."""

import contextlib
import socket
import threading
from collections.abc import Callable
from enum import Enum, auto
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Act(Enum):
    HOLD = auto()
    CUT = auto()


class Wire:
    """Listens on a port of its own and passes everything on. Each packet of a client is one statement: our statements
    are short, and prepared after their first use."""

    def __init__(self, dsn: str) -> None:
        parts = conninfo_to_dict(dsn)
        self._server = (str(parts["host"]), int(str(parts["port"])))
        self._lock = threading.Lock()
        self._countdown = 0
        self._act = Act.HOLD
        self._held: list[threading.Event] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self.is_held = threading.Event()
        self.accepted = 0  # connections since the start
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=self._port, sslmode="disable")
        self._start(self._accept, self._listener)

    def at(self, statement: int, act: Act) -> None:
        """Does ``act`` when the given statement from now on comes along, counted from 1."""
        with self._lock:
            self._countdown, self._act = statement, act
            self.is_held.clear()

    def release(self) -> None:
        """Lets a held statement go on."""
        with self._lock:
            held, self._held = self._held, []
        for gate in held:
            gate.set()

    def refuse(self) -> None:
        """As if the server were gone: connections end, and new ones are refused."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def accept(self) -> None:
        """As if it were back, at the same address."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._start(self._accept, self._listener)

    def cut(self) -> None:
        """Ends every connection there is, as a server does that is killed."""
        with self._lock:
            ended, self._sockets = self._sockets, []
        for end in ended:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Ends every connection and takes no more."""
        with self._lock:
            self._is_closed = True  # a retriever says goodbye when it is closed: that must not be held for ever
        self.release()
        self.refuse()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed
                return
            server = socket.create_connection(self._server)
            with self._lock:
                self.accepted += 1
                self._sockets += [client, server]
            self._start(self._pass_on, client, server, True)
            self._start(self._pass_on, server, client, False)

    def _pass_on(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with contextlib.suppress(OSError):
            while packet := source.recv(1 << 20):
                if is_client and self._is_due():
                    if self._act is Act.CUT:
                        self.cut()
                        return
                    self._hold()
                target.sendall(packet)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def _is_due(self) -> bool:
        with self._lock:
            self._countdown -= 1
            return self._countdown == 0

    def _hold(self) -> None:
        gate = threading.Event()
        with self._lock:
            if self._is_closed:
                return
            self._held.append(gate)
        self.is_held.set()
        gate.wait()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
