"""Google's Drive client, kept to what one thread may ask of it and to answers that are what they claim to be.

The client builds the calls from the discovery document that it brings, with our root URL in it. What it would do with
the answers is done here: it takes an answer cut short for a text, retries what Temporal should, and trips over errors in an
unexpected shape, or logs their words.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

import httplib2
from google_auth_httplib2 import Request  # type: ignore[import-untyped]  # has neither stubs nor py.typed
from googleapiclient.discovery import build_from_document  # type: ignore[import-untyped]  # likewise
from httplib2.decode import DecodeLimitError

from activities.connectors.drive.addresses import Addresses
from activities.connectors.drive.credentials import SignIn, is_private
from activities.connectors.drive.errors import Call, DriveFault, classify, translate
from activities.connectors.drive.fields import check_masks
from activities.connectors.drive.told import read_refusal
from activities.connectors.drive.transport import AnswerTooLarge, BoundedHttp
from headwater.connectors import DocumentRefused, DocumentTooLarge
from headwater.errors import ValidationError

ROOT_URL: Final = "https://www.googleapis.com/"
TIMEOUT_S: Final = 60.0  # from one received byte to the next
ANSWER_S: Final = 300.0  # of a whole answer
# A page of 1,000 files with a hundred permissions each; what is larger is nothing that we asked for.
ANSWER_MAX: Final = 64 * 1024 * 1024


class DriveService:
    """Drive at ``root_url``, asked as ``sign_in``. Used by one thread at a time: httplib2 allows no more."""

    def __init__(
        self,
        sign_in: SignIn,
        *,
        root_url: str = ROOT_URL,
        timeout_s: float = TIMEOUT_S,
        answer_s: float = ANSWER_S,
        answer_max: int = ANSWER_MAX,
    ) -> None:
        root_url = check_root_url(root_url)
        self.root_url: Final = root_url
        self._addresses = Addresses(root_url)
        self._sign_in = sign_in
        self._answer_max = answer_max
        self._http = BoundedHttp(self._addresses, timeout_s=timeout_s, answer_s=answer_s)
        self._token_request = Request(self._http)
        document = discovery_document(root_url)
        self._client = build_from_document(document, http=self._http)

    @property
    def account(self) -> str:
        """To whom a file must be shared so that it is seen here."""
        return self._sign_in.account

    @property
    def client(self) -> Any:
        """Google's resource: ``client.files().get(…)`` makes a request for `answer` or `media`, and sends nothing."""
        return self._client

    def answer(self, request: Any, call: Call) -> dict[str, Any]:
        """What Drive answers to a request for fields. Raises errors of `headwater`, as `errors.translate` has them.

        A redirect is no answer: whatever is at its end, Drive does not move.
        """
        self._http.follow_redirects = False
        status, content = self._ask(request.uri, request.method, request.body, request.headers, call, self._answer_max)
        if content is None:
            raise DriveFault(f"The answer to the call to {call.action} has more than {self._answer_max:,} bytes.")
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            # So a connection ends that breaks between servers of Drive: with status 200, and a part of the text.
            raise DriveFault(f"The answer to the call to {call.action} ({status}) is cut short.")
        return answer

    def media(self, request: Any, call: Call, *, max_bytes: int) -> bytes:
        """The bytes that a request for content brings. Raises `DocumentTooLarge` once there are more than ``max_bytes``."""
        return self._bytes(request.uri, request.method, request.body, request.headers, call, max_bytes)

    def link(self, url: str, call: Call, *, max_bytes: int) -> bytes:
        """The bytes at an address that Drive gave, such as one of ``exportLinks``.

        The token goes to Google and to the root URL, and nowhere else.
        """
        if not self._addresses.has(url):
            raise DocumentRefused(
                f"Drive was asked to {call.action} and named an address outside of Google: it is not followed."
            )
        return self._bytes(url, "GET", None, {}, call, max_bytes)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All that is asked in here takes no longer than that, all in all. What comes too late is as if nothing came."""
        self._http.end_at(time.monotonic() + seconds)
        try:
            yield
        finally:
            self._http.end_at(None)

    def close(self) -> None:
        """Ends its connections. It may be used again."""
        self._http.close()

    def _bytes(
        self, uri: str, method: str, body: Any, headers: Mapping[str, str], call: Call, max_bytes: int
    ) -> bytes:  # fmt: skip
        self._http.follow_redirects = True
        _, content = self._ask(uri, method, body, headers, call, max_bytes)
        if content is None or len(content) > max_bytes:
            raise DocumentTooLarge(
                f"Asked to {call.action}, Drive gave more than {max_bytes:,} bytes, which are not read."
            )
        return content

    def _ask(
        self, uri: str, method: str, body: Any, headers: Mapping[str, str], call: Call, max_bytes: int
    ) -> tuple[int, bytes | None]:
        """Status and content of what is no refusal; no content if there is more of it than allowed."""
        try:
            response, content = self._send(uri, method, body, headers, max_bytes)
        except Exception as error:  # whatever it is, the connection may be in the middle of an answer
            with suppress(Exception):
                self._http.close()
            if isinstance(error, AnswerTooLarge | DecodeLimitError):
                return 200, None
            ours = translate(error, call)
            if ours is None:
                raise
            # The library's error holds addresses, answers and tokens.
            raise ours from None
        if not 200 <= response.status < 300:
            raise classify(read_refusal(response.status, response, content, now=datetime.now(UTC)), call)
        return response.status, content

    def _send(
        self, uri: str, method: str, body: Any, headers: Mapping[str, str], max_bytes: int
    ) -> tuple[httplib2.Response, bytes]:
        """One exchange, and a second one with a new token when the token is refused: it may have been revoked meanwhile."""
        self._http.allow(max_bytes)
        credentials: Any = self._sign_in.credentials  # partly untyped
        for is_last in (False, True):
            signed = dict(headers)
            with self._sign_in.refreshing:
                credentials.before_request(self._token_request, method, uri, signed)
            response, content = self._http.request(uri, method=method, body=body, headers=signed)
            if response.status != 401 or is_last:
                break
            with self._sign_in.refreshing:
                # Another thread may have fetched a new one while this one asked with the old.
                if signed.get("authorization") == f"Bearer {credentials.token}":
                    credentials.refresh(self._token_request)
        return response, content


def check_root_url(url: str) -> str:
    """``url`` with the slash at its end that the client needs. Raises `ValidationError`."""
    parts = urlsplit(url) if is_private(url) else None
    if parts is None or parts.query or parts.fragment or parts.username is not None or parts.password is not None:
        raise ValidationError(
            f"The root URL {url!r} must be https://HOST/, or http:// for a host without a domain, such as this machine; it has "
            "no user, no query, and not the path drive/v3, which is added."
        )
    return url if url.endswith("/") else f"{url}/"


def discovery_document(root_url: str = ROOT_URL) -> dict[str, Any]:
    """The description of drive/v3 that the client brings, for a server at ``root_url``. All masks fit it."""
    document: dict[str, Any] = json.loads(_checked_text())
    document["rootUrl"] = root_url
    document["baseUrl"] = root_url + document["servicePath"]
    document.pop("mtlsRootUrl", None)  # or a client certificate on this machine leads past the root URL
    return document


@cache
def _checked_text() -> str:
    text = files("googleapiclient.discovery_cache").joinpath("documents/drive.v3.json").read_text("utf-8")
    check_masks(json.loads(text))
    return text


__all__ = ["ROOT_URL", "DriveService", "check_root_url", "discovery_document"]
