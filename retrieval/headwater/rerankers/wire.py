"""Asking a reranker over HTTP: one request, one answer of limited size, one deadline. The formats are its subclasses."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import httpx

from headwater.errors import RerankError, RerankLimitError, ValidationError
from headwater.models import Hit
from headwater.rerankers import ApiKey
from headwater.rerankers.answers import read_json, read_scores
from headwater.rerankers.bounded import TIMEOUT_S, check_timeout
from headwater.rerankers.keys import HeldKey
from headwater.transport.addresses import AllowedAddresses, check_allowed, check_base_url
from headwater.transport.http import CertificateRefused, PinnedTransport

ANSWER_BYTES: Final = 65_536

_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}
_HINTS: Final = {
    401: ": give it a key that it takes",
    403: ": give it a key that it takes",
    404: ": look at the path of its URL",
    413: ": ask for fewer candidates, or have it cut passages that its model cannot read whole",
    422: ": ask for fewer candidates, or look at the model's name",
    429: ": it is asked too often",
}


class WireReranker(ABC):
    """A reranker at ``url``, to which ``/rerank`` is added. Text leaves the process, so it is always hosted.

    ``transport`` replaces ours, and with it all that is checked of addresses, and https.
    """

    needs_key: ClassVar = False
    texts_key: ClassVar = "documents"
    score_key: ClassVar = "relevance_score"
    more: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: ApiKey | None = None,
        allow_loopback: bool = False,
        allow_private: bool = False,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        base, reach = check_base_url(url), AllowedAddresses(loopback=allow_loopback, private=allow_private)
        if transport is None:
            check_allowed(base, reach)
        if self.needs_key and api_key is None:
            raise ValidationError(f"{type(self).__name__} needs an api_key.")
        if model is not None and (not isinstance(model, str) or not model or not model.isprintable()):
            raise ValidationError("A model's name is one printable line.")
        self._url = base.copy_with(raw_path=base.raw_path.rstrip(b"/") + b"/rerank")
        self._model = model
        self._key = None if api_key is None else HeldKey(api_key)
        self._timeout_s = check_timeout(timeout_s)
        self._transport = transport or PinnedTransport(reach, timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"<{self.source}>"

    @property
    def is_hosted(self) -> bool:
        return True

    @property
    def source(self) -> str:
        """How errors call it: kind and host, no more of the URL."""
        return f"{type(self).__name__} at {self._url.netloc.decode('ascii')}"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        scores = self.scores(query, [hit.text for hit in hits])
        order = sorted(range(len(hits)), key=lambda place: -scores[place])  # stable: equal ones keep their order
        return [hits[place] for place in order]

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each of ``texts`` answers, more is better. Numbers of different rerankers do not compare."""
        if not texts:
            return []
        answer = read_json(self._ask(self._body(query, texts)), self.source)
        return read_scores(self._items(answer), len(texts), score_key=self.score_key, source=self.source)

    @abstractmethod
    def _items(self, answer: Any) -> object:
        """The list of scores in what was answered; anything else is refused later."""

    def _body(self, query: str, texts: Sequence[str]) -> bytes:
        model = {} if self._model is None else {"model": self._model}
        body = {**model, "query": query, self.texts_key: list(texts), **self.more}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    def _ask(self, body: bytes) -> bytes:
        timeout = httpx.Timeout(self._timeout_s).as_dict()  # for a transport that is not ours
        # The key is in no variable, which somebody's report of an error might show.
        request = httpx.Request("POST", self._url, headers=_HEADERS, content=body, extensions={"timeout": timeout})
        if self._key is not None:
            request.headers["Authorization"] = self._key.header()
        try:
            answer = self._transport.handle_request(request)
            try:
                return self._read(answer)
            finally:
                answer.close()
        except httpx.TimeoutException:
            raise RerankLimitError(f"{self.source} did not answer within {self._timeout_s:g} s.") from None
        except CertificateRefused as error:
            raise RerankError(f"{self.source} has a certificate that is not trusted: {error}.") from None
        except httpx.NetworkError:
            raise RerankLimitError(f"{self.source} could not be reached, or broke off.") from None
        except httpx.HTTPError:
            raise RerankError(f"{self.source} answered what is not HTTP.") from None

    def _read(self, answer: httpx.Response) -> bytes:
        status = answer.status_code
        if not answer.is_success:
            hint = ": it redirects, and no redirect is followed" if answer.is_redirect else _HINTS.get(status, "")
            raise RerankError(f"{self.source} answered {status}{hint}.")
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise RerankError(f"{self.source} answered compressed, which it was asked not to.")
        body = bytearray()
        for part in [answer.content] if answer.is_stream_consumed else answer.iter_raw():
            body += part
            if len(body) > ANSWER_BYTES:
                raise RerankLimitError(f"{self.source} answered with more than {ANSWER_BYTES:,} bytes.")
        return bytes(body)


__all__ = ["ANSWER_BYTES", "WireReranker"]
