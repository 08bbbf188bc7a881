"""The way that every call takes through the emulator: the caller, the fault script, the work, the log, the wire."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from traceback import format_exception
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.drive.call import Reply
from tests.drive.error_json import Vocabulary, error_json
from tests.drive.errors import DriveError
from tests.drive.faults import Fault, Faults
from tests.drive.request_log import Request, RequestLog
from tests.drive.tokens import Bearer, Tokens
from tests.drive.world import World

HANG_UP: Final = "tests.drive.hang_up"
"""Where in the scope of a call the server leaves a function that ends its connection."""

_CHUNK_BYTES: Final = 64 * 1024
_NO_FAULT: Final = Fault()
_USAGE_LIMITS: Final = frozenset(
    {"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "quotaExceeded", "accessNotConfigured"}
)
_SECRET_PARAMETERS: Final = frozenset({"access_token", "oauth_token", "key"})


class Passage:
    """What is done for each call, whichever it is."""

    def __init__(self, world: World, *, tokens: Tokens, faults: Faults, log: RequestLog) -> None:
        self._world = world
        self._tokens = tokens
        self._faults = faults
        self._log = log

    async def through(
        self, request: HttpRequest, *, name: str, file_id: str | None, work: Callable[[Bearer], Reply]
    ) -> Response:
        """The answer to a call that needs a caller."""
        try:
            bearer = self._bearer(request)
        except DriveError as error:
            refused = refusal(error)
            return await self._answer(request, name=name, file_id=file_id, email=None, work=lambda: refused)
        return await self._answer(request, name=name, file_id=file_id, email=bearer.email, work=lambda: work(bearer))

    async def through_open(self, request: HttpRequest, *, name: str, work: Callable[[], Reply]) -> Response:
        """The answer to a call that anybody may make."""
        return await self._answer(request, name=name, file_id=None, email=None, work=work)

    def _bearer(self, request: HttpRequest) -> Bearer:
        """Who calls. Tokens in the query string are not taken: they would end up in logs."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = self._tokens.bearer(token if scheme.lower() == "bearer" else None)
        try:
            is_deleted = self._world.user(bearer.email).deleted
        except KeyError:
            is_deleted = True
        if is_deleted:
            raise DriveError(401, "authError", "Invalid Credentials", location="Authorization")
        return bearer

    async def _answer(
        self, request: HttpRequest, *, name: str, file_id: str | None, email: str | None, work: Callable[[], Reply]
    ) -> Response:
        number, now = self._log.number(), self._world.clock.now()
        fault = self._faults.meet(name, file_id=file_id, email=email, now=now) or _NO_FAULT
        if fault.latency_s:
            await asyncio.sleep(fault.latency_s)
        reply = _scripted(fault) if fault.status is not None else await run_in_threadpool(self._worked, name, work)
        if fault.hangs_up:
            reply = Reply(status=0, reason="hungUp")
        if fault.cut_at_bytes is not None:
            reply = replace(reply, body=reply.body[: fault.cut_at_bytes])
        self._log.add(
            Request(
                number=number,
                at=now,
                method=name,
                email=email,
                file_id=file_id,
                parameters={key: value for key, value in request.query_params.items() if key not in _SECRET_PARAMETERS},
                range=request.headers.get("range"),
                status=reply.status,
                reason=reply.reason,
                sent_bytes=len(reply.body[: fault.lost_at_bytes]),
                is_fault=fault is not _NO_FAULT,
            )
        )
        return _HangUp() if fault.hangs_up else _response(reply, lost_at_bytes=fault.lost_at_bytes)

    def _worked(self, name: str, work: Callable[[], Reply]) -> Reply:
        """The answer, be it a refusal."""
        try:
            return work()
        except DriveError as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001 - our own fault: no test may take it for Drive's
            self._log.add_violations([f"{name} broke down:\n{''.join(format_exception(error))}"])
            return refusal(DriveError(500, "emulatorBrokeDown", "The emulator broke down."))


def refusal(error: DriveError, *, vocabulary: Vocabulary = "errors") -> Reply:
    """A refusal in Google's JSON."""
    body = json.dumps(error_json(error, vocabulary=vocabulary), ensure_ascii=False).encode("utf-8")
    return Reply(body, status=error.status, reason=error.reason)


def _scripted(fault: Fault) -> Reply:
    """The error that the script wants."""
    assert fault.status is not None
    domain = "usageLimits" if fault.reason in _USAGE_LIMITS else "global"
    error = DriveError(fault.status, fault.reason, fault.message, domain=domain)
    reply = refusal(error, vocabulary=fault.vocabulary)
    if fault.body is not None:
        reply = replace(reply, body=fault.body.encode("utf-8"), media_type="text/html; charset=UTF-8")
    if fault.retry_after is not None:
        reply = replace(reply, headers={"Retry-After": fault.retry_after})
    return reply


def _response(reply: Reply, *, lost_at_bytes: int | None) -> Response:
    if lost_at_bytes is not None:
        return _Lost(reply, at_bytes=lost_at_bytes)
    if not reply.has_length:
        return StreamingResponse(
            _chunks(reply.body), status_code=reply.status, media_type=reply.media_type, headers=reply.headers
        )
    media_type = None if reply.status == 204 else reply.media_type
    return Response(reply.body, status_code=reply.status, media_type=media_type, headers=dict(reply.headers))


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _CHUNK_BYTES):
        yield body[start : start + _CHUNK_BYTES]


class _HangUp(Response):
    """No answer at all."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[HANG_UP]()
        await asyncio.sleep(0)  # or the server would see an answer missing where the connection is


class _Lost(Response):
    """An answer that breaks off: the server closes the connection of a response that was begun and not ended."""

    def __init__(self, reply: Reply, *, at_bytes: int) -> None:
        super().__init__(reply.body, status_code=reply.status, media_type=reply.media_type, headers=dict(reply.headers))
        if not reply.has_length:
            del self.headers["content-length"]
        self._at_bytes = at_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body[: self._at_bytes], "more_body": True})
