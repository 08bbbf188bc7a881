"""Batches: several calls in one body, each answered as if it had come alone, and logged and counted so.

The connector sends none: with the client's `api_endpoint` they go to Google whatever the root. That the log has no
`batch` in it is for tests to say.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import httpx
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

BATCH_PATH: Final = "/batch/drive/v3"
_MOST_CALLS: Final = 100
_BOUNDARY: Final = "batch_of_the_emulator"


async def answer_batch(request: HttpRequest, application: ASGIApp) -> Response:
    """The answers to all calls of a batch, in their order."""
    boundary = re.search(r'boundary="?([^";]+)"?', request.headers.get("content-type", ""))
    parts = list(_parts(await request.body(), boundary.group(1) if boundary else ""))
    if not 1 <= len(parts) <= _MOST_CALLS:
        return Response(f"A batch has 1 to {_MOST_CALLS} calls.", status_code=400)
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url=str(request.base_url)) as client:
        answers = [_part(content_id, await client.send(_call(client, raw))) for content_id, raw in parts]
    body = "".join(f"--{_BOUNDARY}\r\n{answer}\r\n" for answer in answers) + f"--{_BOUNDARY}--\r\n"
    return Response(body.encode("utf-8"), media_type=f"multipart/mixed; boundary={_BOUNDARY}")


def _parts(body: bytes, boundary: str) -> Iterator[tuple[str, str]]:
    """Each part's `Content-ID` and the call in it."""
    for part in body.decode("utf-8").replace("\r\n", "\n").split(f"--{boundary}")[1:-1]:
        head, _, call = part.strip("\n").partition("\n\n")
        named = re.search(r"(?im)^content-id:\s*<?([^>\n]*)>?$", head)
        yield named.group(1) if named else "", call


def _call(client: httpx.AsyncClient, raw: str) -> httpx.Request:
    head, _, body = raw.partition("\n\n")
    first, *lines = head.split("\n")
    verb, address, *_ = first.split(" ")
    headers = dict(line.split(": ", maxsplit=1) for line in lines if ": " in line)
    skipped = {"host", "content-length"}
    headers = {name: value for name, value in headers.items() if name.lower() not in skipped}
    return client.build_request(verb, address, headers=headers, content=body.encode("utf-8"))


def _part(content_id: str, answer: httpx.Response) -> str:
    phrase = HTTPStatus(answer.status_code).phrase
    headers = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    return (
        f"Content-Type: application/http\r\nContent-ID: <response-{content_id}>\r\n\r\n"
        f"HTTP/1.1 {answer.status_code} {phrase}\r\n{headers}\r\n{answer.text}"
    )
