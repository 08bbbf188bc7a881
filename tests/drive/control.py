"""The control API: what a test or a person in another process does to the emulator, under `/control/`.

In the same process use the world, the faults, the tokens and the log themselves; this is the same by HTTP.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import timedelta
from typing import Any, Final, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.drive.clock import rfc3339
from tests.drive.faults import Fault, Faults
from tests.drive.modes import Modes
from tests.drive.request_log import RequestLog
from tests.drive.tokens import Tokens
from tests.drive.world import World

Given: TypeAlias = Mapping[str, Any]


class Control:
    """The routes below `/control/`."""

    def __init__(self, world: World, *, tokens: Tokens, faults: Faults, log: RequestLog) -> None:
        self._world = world
        self._tokens = tokens
        self._faults = faults
        self._log = log

    def routes(self) -> list[Route]:
        return [
            _route("GET", "requests", self._requests),
            _route("DELETE", "requests", self._forget_requests),
            _route("POST", "faults", self._add_faults),
            _route("DELETE", "faults", self._clear_faults),
            _route("POST", "weather", self._weather),
            _route("POST", "quota", self._quota),
            _route("PATCH", "modes", self._modes),
            _route("POST", "clock", self._clock),
            _route("POST", "tokens", self._issue),
            _route("POST", "expire", self._expire_access),
            _route("POST", "revoke", self._revoke),
        ]

    def _requests(self, given: Given) -> Any:
        """What was asked: `?method=` and `&file_id=` choose, as `RequestLog.of` does."""
        requests = self._log.of(given.get("method", "*"), file_id=given.get("file_id"))
        return {
            "requests": [{**asdict(request), "at": rfc3339(request.at)} for request in requests],
            "violations": self._log.violations,
        }

    def _forget_requests(self, _: Given) -> Any:
        self._log.clear()

    def _add_faults(self, given: Given) -> Any:
        """`{"faults": [{…}]}`, each with fields of `Fault`."""
        self._faults.add(*(Fault(**fault) for fault in given["faults"]))

    def _clear_faults(self, _: Given) -> Any:
        self._faults.clear()

    def _weather(self, given: Given) -> Any:
        """`{"share": 0.1, "seed": 1}`, and what else `Faults.randomly` takes."""
        self._faults.randomly(given["share"], **{key: value for key, value in given.items() if key != "share"})

    def _quota(self, given: Given) -> Any:
        """`{"per_minute": 100}`, and a `retry_after`."""
        self._faults.quota(given["per_minute"], retry_after=given.get("retry_after"))

    def _modes(self, given: Given) -> Any:
        """Switches of `Modes` by their names, and how all of them stand then. Times are seconds, sets are lists."""
        known = {mode.name: getattr(self._world.modes, mode.name) for mode in fields(Modes)}
        for name, value in given.items():
            setattr(self._world.modes, name, _like(known[name], value))
        return {mode.name: _plain(getattr(self._world.modes, mode.name)) for mode in fields(Modes)}

    def _clock(self, given: Given) -> Any:
        """`{"advance_s": 3600}` lets time pass; `{}` tells it."""
        self._world.clock.advance(timedelta(seconds=given.get("advance_s", 0)))
        return {"now": rfc3339(self._world.clock.now())}

    def _issue(self, given: Given) -> Any:
        """`{"email": …}`: an access token."""
        return {"access_token": self._tokens.issue(self._world.user(given["email"]).email)}

    def _expire_access(self, given: Given) -> Any:
        self._tokens.expire_access(given["email"])

    def _revoke(self, given: Given) -> Any:
        self._tokens.revoke(given["email"])


_BAD_INPUT: Final = (KeyError, TypeError, ValueError)


def _route(verb: str, name: str, work: Callable[[Given], Any]) -> Route:
    async def endpoint(request: HttpRequest) -> Response:
        raw = await request.body()
        try:
            given = json.loads(raw) if raw.strip() else dict(request.query_params)
            answer = await run_in_threadpool(work, given)
        except _BAD_INPUT as error:
            return JSONResponse({"error": f"{verb} /control/{name}: {type(error).__name__} {error}"}, status_code=400)
        return JSONResponse(answer if answer is not None else {})

    return Route(f"/control/{name}", endpoint, methods=[verb])


def _like(current: Any, value: Any) -> Any:
    """A value out of JSON as the mode holds it."""
    if isinstance(current, timedelta):
        return timedelta(seconds=value)
    if isinstance(current, set):
        return {tuple(member) for member in value}
    return value


def _plain(value: Any) -> Any:
    """A mode as JSON can say it."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, set):
        return sorted(list(member) for member in value)
    return value
