"""A custom search behind an HTTP address."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.openai_server.server import FailedCall, Server
from components.openai_server.server_errors import Malformed
from components.openai_server.session import Session
from components.openai_server.token_counts import TokenCountPaths
from components.protocols import Fusion
from components.records import IndexedText
from components.retrievers.arms import depth_problems
from components.retrievers.custom_hits import in_order, read_hits
from components.user_code.returned_passages import BadReply

_EXAMPLE = "http://127.0.0.1:9000/search"
_NO_TOKENS = TokenCountPaths(frozenset(), (), ())

Self = TypeVar("Self", bound="HttpRetriever")


@dataclass(frozen=True, kw_only=True)
class HttpRetriever:
    """A search behind an address, up to `concurrency` queries at a time.

    Each query is a POST of JSON to `url`: `query`, `top_k` (the `depth`) and `parameters`. The reply is JSON: a list of
    texts or of records with `text`, best first, or an object with such a list as `passages`.

    `revision` identifies the searched content, such as a date. It is required, and part of the keys of all hits.
    `fusion` is needed only for an expander with several queries per sample. For failures and retries see `OpenAIChat`.
    If one query fails permanently, the whole search fails.
    """

    url: str
    revision: str | int | float
    parameters: Mapping[str, bool | int | float | str] = field(hash=False)
    depth: int = 100
    fusion: Fusion | None = None
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    timeout_s: float = runtime_only(60.0, "a search that takes too long is repeated")
    max_retries: int = runtime_only(5, "failures are retried until a reply arrives")
    backoff_s: float = runtime_only(1.0, "waiting changes no hit")
    concurrency: int = runtime_only(1, "searches do not depend on each other")

    version: ClassVar[int] = 1
    reads_vectors: ClassVar[bool] = False
    is_free: ClassVar[bool] = True
    embedder: ClassVar[None] = None

    @property
    def arms(self: Self) -> tuple[Self]:
        """The retriever itself, its only arm."""
        return (self,)

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the key is not set."""
        problems = depth_problems(self.depth)
        if not self.url.strip():
            problems.append(f"url: is empty, expected the address of the search, e.g. {_EXAMPLE}")
        if not str(self.revision).strip():
            problems.append(
                "revision: is empty, expected a version of the search, e.g. a date or a build number: hits "
                "are cached, and nothing else shows that the search behind an address changed"
            )
        return [*problems, *(problem.replace("base_url:", "url:", 1) for problem in self._server.check())]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the hits of each query. Raises ComponentError for a search that fails permanently."""
        return in_order(self._search(queries, depth))

    def _search(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, list[IndexedText]]]:
        async def search(session: Session, row: int) -> list[IndexedText]:
            body = {"query": queries[row], "top_k": depth, "parameters": dict(self.parameters)}
            reply = await session.post(body, counted_at=_NO_TOKENS)
            try:
                return read_hits(reply.content, depth)
            except BadReply as error:
                raise Malformed(str(error)) from error

        with closing(self._server.call("", range(len(queries)), search)) as outcomes:
            for row, outcome in outcomes:
                if isinstance(outcome, FailedCall):
                    raise ComponentError(f"retriever=http: {outcome.message}")
                yield row, outcome

    @property
    def _server(self) -> Server:
        return Server(
            f"search {self.revision}",
            self.url,
            self.timeout_s,
            self.max_retries,
            self.backoff_s,
            self.concurrency,
            self.api_key_env,
            is_free=True,
            if_refused="start the search, or give its address as retriever.url",
            settings="the retriever",
        )
