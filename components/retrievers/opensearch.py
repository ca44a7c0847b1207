"""Search in an existing OpenSearch or Elasticsearch index, by a custom query."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.json_value import Json
from components.limits import expected_one_of
from components.openai_server.server import FailedCall, Server
from components.openai_server.server_errors import Malformed
from components.openai_server.session import Session
from components.openai_server.token_counts import TokenCountPaths
from components.records import IndexedText
from components.retrievers.custom_hits import in_order
from components.retrievers.existing_index import (
    ExistingIndex,
    fill_template,
    request_problems,
    with_dimensions,
)

_NO_TOKENS = TokenCountPaths(frozenset(), (), ())
_SCHEMES = ("Basic", "ApiKey", "Bearer")


@dataclass(frozen=True, kw_only=True)
class SearchServer(ExistingIndex):
    """A search by `request`, the body of `POST /index/_search` as JSON, which both servers understand.

    The placeholders are whole strings: {"query": {"match": {"text": "{query}"}}, "size": "{top_k}"}. `text_field` and
    `document_field` are paths in the `_source` of a hit, and `_id` is its id. `api_key_env` names an environment
    variable with a key, which is sent by `scheme`: Basic (USER:PASSWORD), ApiKey or Bearer.

    A reply with failed shards, or of a search that timed out, counts as a failure and is retried: see `OpenAIChat`.
    """

    index: str
    request: str
    base_url: str
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    scheme: str = runtime_only("Basic", "a key gives access, and is secret")
    timeout_s: float = runtime_only(60.0, "a search that takes too long is repeated")
    max_retries: int = runtime_only(5, "failures are retried until a reply arrives")
    backoff_s: float = runtime_only(1.0, "waiting changes no hit")
    concurrency: int = runtime_only(1, "searches do not depend on each other")

    option: ClassVar[str] = "retriever=opensearch"

    @property
    def template(self) -> str:
        """The request."""
        return self.request

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the key is not set."""
        problems = self.problems("request")
        problems += request_problems(self.request) if self.request.strip() else []
        if not self.index.strip():
            problems.append("index: is empty, expected the name of the index")
        if self.scheme not in _SCHEMES:
            problems.append(f"scheme: got {self.scheme!r}{expected_one_of(self.scheme, _SCHEMES)}")
        return [*problems, *self._server.check()]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the hits of each query. Raises ComponentError for a search that fails permanently."""
        return in_order(self._search(queries, vectors, depth))

    def _search(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[tuple[int, list[IndexedText]]]:
        template = json.loads(self.request)

        async def search(session: Session, row: int) -> list[Json]:
            vector = None if vectors is None else vectors[row].tolist()
            body = fill_template(template, queries[row], vector, depth)
            return _extract_hits((await session.post(body, counted_at=_NO_TOKENS)).content)

        path = f"/{quote(self.index, safe=',*')}/_search"
        with closing(self._server.call(path, range(len(queries)), search)) as outcomes:
            for row, outcome in outcomes:
                if isinstance(outcome, FailedCall):
                    raise ComponentError(f"{self.option}: {with_dimensions(outcome.message, vectors)}")
                yield row, [self._hit(hit) for hit in outcome[:depth]]

    def _hit(self, hit: Json) -> IndexedText:
        source = hit.get("_source") if isinstance(hit, Mapping) else None
        return self.parse_hit(source, hit.get("_id"))

    @property
    def _server(self) -> Server:
        return Server(
            self.index.strip() or "index",
            self.base_url,
            self.timeout_s,
            self.max_retries,
            self.backoff_s,
            self.concurrency,
            self.api_key_env,
            is_free=True,
            if_refused="start the server, or give its address as retriever.base_url",
            settings="the retriever",
            key_scheme=self.scheme,
        )


def _extract_hits(content: Json) -> list[Json]:
    """Return the hits of a reply. Raises Malformed for another reply, or one that lacks hits of some shards."""
    if not isinstance(content, Mapping) or not isinstance(content.get("hits"), Mapping):
        raise Malformed("the reply has no object `hits`")
    if content.get("timed_out"):
        raise Malformed("the search timed out on the server, and its reply lacks hits")
    shards = content.get("_shards")
    if isinstance(shards, Mapping) and shards.get("failed"):
        raise Malformed(f"{shards['failed']} of {shards.get('total')} shards failed, and the reply lacks their hits")
    hits = content["hits"].get("hits")
    if not isinstance(hits, list):
        raise Malformed("the reply has no list `hits.hits`")
    return hits
