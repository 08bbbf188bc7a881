"""The emulator as an HTTP application: Drive's routes out of its discovery document, and one way through for all calls.

On that way a call is logged, its caller known, the fault script asked, its parameters checked, and its answer cut by the
mask and held against the schema. The routes themselves only translate between the API and the world.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from tests.drive import routes_changes, routes_content, routes_drives, routes_files, routes_permissions
from tests.drive.batch import BATCH_PATH, answer_batch
from tests.drive.call import Call, Handler, Media, Reply
from tests.drive.control import Control
from tests.drive.discovery import SERVICE_PATH, UPLOAD_PATH, Method, methods, parameters_of, violations
from tests.drive.error_json import invalid_parameter
from tests.drive.errors import DriveError
from tests.drive.faults import Faults
from tests.drive.masks import chosen, mask_for
from tests.drive.operations import Operations
from tests.drive.passage import Passage
from tests.drive.rendering import EXPORT_PATH
from tests.drive.request_log import RequestLog
from tests.drive.tokens import Bearer, TokenRefused, Tokens
from tests.drive.uploads import Uploads
from tests.drive.world import World


class DriveApp:
    """Everything that one server serves."""

    def __init__(self, world: World, *, tokens: Tokens, faults: Faults, log: RequestLog) -> None:
        self.world = world
        self.tokens = tokens
        self.operations = Operations(world)
        self.uploads = Uploads()
        self.log = log
        self._passage = Passage(world, tokens=tokens, faults=faults, log=log)
        self._control = Control(world, tokens=tokens, faults=faults, log=log)
        self._handlers: Mapping[str, Handler] = {
            **routes_changes.HANDLERS,
            **routes_content.HANDLERS,
            **routes_drives.HANDLERS,
            **routes_files.HANDLERS,
            **routes_permissions.HANDLERS,
            **self.operations.handlers(),
        }

    def application(self) -> Starlette:
        """The ASGI application."""
        served = Starlette(
            routes=[
                *(self._route(method) for method in sorted(methods().values(), key=_literal_names_first)),
                *(self._upload_route(method) for method in methods().values() if method.is_upload),
                Route(f"{UPLOAD_PATH}sessions/{{session}}", self._upload_chunk, methods=["PUT"]),
                Route("/token", self._token, methods=["POST"]),
                Route(EXPORT_PATH, self._export_link, methods=["GET"]),
                Route("/downloads/{name}", self._downloaded, methods=["GET"]),
                *self._control.routes(),
            ]
        )

        async def batch(request: HttpRequest) -> Response:
            self.log.add_batch(self.world.clock.now())
            return await answer_batch(request, served)

        served.router.routes.append(Route(BATCH_PATH, batch, methods=["POST"]))
        return served

    def _route(self, method: Method) -> Route:
        async def endpoint(request: HttpRequest) -> Response:
            raw = await request.body()
            name = f"{method.id}:media" if _wants_media(method, request) else method.id
            return await self._passage.through(
                request, name=name, file_id=_file_id(request), work=partial(self._call, method, request, raw)
            )

        return Route(f"{SERVICE_PATH}{method.path}", endpoint, methods=[method.verb])

    def _upload_route(self, method: Method) -> Route:
        async def endpoint(request: HttpRequest) -> Response:
            raw = await request.body()
            return await self._passage.through(
                request, name=method.id, file_id=_file_id(request), work=partial(self._upload, method, request, raw)
            )

        return Route(f"{UPLOAD_PATH}{method.path}", endpoint, methods=[method.verb])

    def _upload(self, method: Method, request: HttpRequest, raw: bytes, bearer: Bearer) -> Reply:
        if request.query_params.get("uploadType") == "resumable":
            self._checked(method, request, raw, bearer, None)
            return self.uploads.begin(method, request, raw, base_url=self.world.base_url)
        metadata, media = self.uploads.whole(request, raw)
        return self._call(method, request, metadata, bearer, media)

    async def _upload_chunk(self, request: HttpRequest) -> Response:
        raw = await request.body()

        def work(bearer: Bearer) -> Reply:
            session = self.uploads.session(request.path_params["session"])
            incomplete = session.take(raw, content_range=request.headers.get("content-range"))
            if incomplete is not None:
                return incomplete
            return self._call(session.method, session.request, session.metadata, bearer, session.media())

        return await self._passage.through(request, name="upload", file_id=None, work=work)

    def _call(
        self, method: Method, request: HttpRequest, raw: bytes, bearer: Bearer, media: Media | None = None
    ) -> Reply:
        """One call of the API, from its checks to its cut answer."""
        call = self._checked(method, request, raw, bearer, media)
        handler = self._handlers[method.id]
        if method.response is None or _wants_media(method, request):
            answer = handler(call)
            return answer if isinstance(answer, Reply) else Reply(status=204)
        mask = mask_for(method.id, fields=call.text("fields"), schema=method.response)
        sent = chosen(mask, handler(call))
        self.log.add_violations(f"{method.id} {problem}" for problem in violations(sent, method.response))
        # Half a letter, which UTF-8 does not have, goes as JSON's escape.
        return Reply(json.dumps(sent, ensure_ascii=False).encode("utf-8", "backslashreplace"))

    def _checked(self, method: Method, request: HttpRequest, raw: bytes, bearer: Bearer, media: Media | None) -> Call:
        """The call that a request makes; one that Drive would refuse out of hand is refused."""
        if method.id not in self._handlers:
            raise DriveError(501, "notImplemented", f"The emulator does not have {method.id}.")
        if not bearer.scopes & method.scopes:
            raise DriveError(403, "insufficientPermissions", "Request had insufficient authentication scopes.")
        parameters = parameters_of(method, path=request.path_params, query=request.query_params.multi_items())
        if parameters.get("alt") == "proto" or (parameters.get("alt") == "media" and not method.is_download):
            raise invalid_parameter("alt", f"{method.id} has no such answer.")
        return Call(
            world=self.world,
            method=method,
            viewer=bearer.email,
            parameters=parameters,
            body=_json_body(method, raw),
            headers=request.headers,
            media=media,
        )

    async def _export_link(self, request: HttpRequest) -> Response:
        work = partial(routes_content.export_link, self.world, request)
        file_id = request.query_params.get("id")
        return await self._passage.through(request, name="exportLink", file_id=file_id, work=work)

    async def _downloaded(self, request: HttpRequest) -> Response:
        work = partial(self.operations.downloaded, request)
        file_id = self.operations.file_of(request.path_params["name"])
        return await self._passage.through(request, name="downloadUri", file_id=file_id, work=work)

    async def _token(self, request: HttpRequest) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))

        def work() -> Reply:
            try:
                return Reply(json.dumps(self.tokens.grant(form)).encode("utf-8"))
            except TokenRefused as refused:
                body = json.dumps(refused.body).encode("utf-8")
                return Reply(body, status=refused.status, reason=refused.body["error"])

        return await self._passage.through_open(request, name="token", work=work)


def _wants_media(method: Method, request: HttpRequest) -> bool:
    return method.is_download and request.query_params.get("alt") == "media"


def _file_id(request: HttpRequest) -> str | None:
    """The file, or shared drive, that a call is about."""
    given = {**request.query_params, **request.path_params}
    return given.get("fileId") or given.get("driveId")


def _json_body(method: Method, raw: bytes) -> Mapping[str, Any]:
    """The resource in the body of a call, as its schema allows it."""
    if method.request is None or not raw.strip():
        return {}
    try:
        body = json.loads(raw)
    except ValueError:
        raise DriveError(400, "parseError", "Parse Error") from None
    for problem in violations(body, method.request):
        raise DriveError(400, "badRequest", f"Invalid JSON payload received. {problem}")
    return body  # type: ignore[no-any-return]  # JSON has no types, and its schema says that this is an object


def _literal_names_first(method: Method) -> list[bool]:
    """`files/trash` must be tried before `files/{fileId}`."""
    return ["{" in part for part in method.path.split("/")]
