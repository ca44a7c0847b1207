"""Rerankers behind an endpoint /rerank, as offered by Jina, Cohere, vLLM, TEI and others."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.limits import too_small
from components.openai_server.limiter import Account
from components.openai_server.received_replies import current_received, request_all
from components.openai_server.reply_reading import get_objects, in_order, to_float_array
from components.openai_server.server import Server, build_server
from components.openai_server.server_errors import Malformed
from components.openai_server.session import Session
from components.records import Passages
from components.rerankers.query_chunk_pairs import TextPair, distinct_pairs

_SCORE_OF_BLANK = -1000.0
"""Score of pairs with blank text: below every model's scores, and still exact in 32 bits."""


class RequestForm(StrEnum):
    """The form of a request: chunks as `documents` with the model's name (Jina, Cohere, vLLM), or as `texts` (TEI,
    which serves one model).
    """

    DOCUMENTS = "documents"
    TEXTS = "texts"


@dataclass(frozen=True)
class _Batch:
    """A query with some of its chunks. `numbers` are the positions of their pairs."""

    query: str
    chunks: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class RerankApi:
    """A `model` at `base_url`/rerank that scores up to `batch_size` chunks of one query per request.

    It scores `depth` hits per query, on the server's scale. Scores are stored one by one. This suits models that score
    each chunk independently, as nearly all do, but not models that compare the chunks of a request (Jina's third
    version). Pairs with blank text are not sent, and rank last. The server cuts chunks that exceed the model's limit.
    See `OpenAIChat` for the other fields and the retries. A request that fails permanently fails the stage; the
    scores received so far are stored.
    """

    model: str
    depth: int = 100
    form: RequestForm = RequestForm.DOCUMENTS
    base_url: str = runtime_only("", "the model's name decides the scores, not the server that runs it")
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    batch_size: int = runtime_only(100, "a score does not depend on the other chunks of its request")
    timeout_s: float = runtime_only(120.0, "scores that arrive too late are requested again")
    max_retries: int = runtime_only(5, "failures are retried until the scores arrive; without them the stage fails")
    backoff_s: float = runtime_only(1.0, "waiting changes no score")
    concurrency: int = runtime_only(8, "requests do not depend on each other")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no score")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no score")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_pairs_per_block: ClassVar[int] = 2000

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the key is not set."""
        problems = self._server.check()
        if not self.base_url:
            problems.append("base_url: is empty, expected the address before /rerank, e.g. https://api.jina.ai/v1")
        return problems + too_small(self, depth=1, batch_size=1)

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs]. Raises ComponentError if a request fails permanently."""
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        texts, row = distinct_pairs(queries, chunks, pairs)
        scores = np.full(len(texts), _SCORE_OF_BLANK, dtype=np.float32)
        keys, received = [self._pair_key(pair) for pair in texts], current_received()
        stored = received.get_all(keys)
        is_stored = [key in stored for key in keys]
        scores[is_stored] = [stored[key][0] for key in keys if key in stored]
        batches = list(self._batches(texts, is_stored))
        with closing(request_all(self._server, "/rerank", batches, self._send, type(self).__name__)) as results:
            for batch, came in results:
                numbers = list(batch.numbers)
                scores[numbers] = came
                received.add_all({keys[number]: scores[[number]] for number in numbers})
        return scores[row]

    def _pair_key(self, pair: TextPair) -> str:
        return json.dumps([self.model, self.form, *pair])

    @property
    def account(self) -> Account:
        """The account whose limits requests count against."""
        return self._server.account

    @property
    def _server(self) -> Server:
        return replace(build_server(self), settings="the reranker")

    def _batches(self, texts: Sequence[TextPair], is_stored: Sequence[bool]) -> Iterator[_Batch]:
        """Yield batches of pairs to send. `texts` must be sorted by query."""
        written = [
            (pair, number)
            for number, pair in enumerate(texts)
            if all(text.strip() for text in pair) and not is_stored[number]
        ]
        for query, group in groupby(written, key=lambda item: item[0][0]):
            query_pairs = list(group)
            for first in range(0, len(query_pairs), self.batch_size):
                part = query_pairs[first : first + self.batch_size]
                yield _Batch(query, tuple(chunk for (_, chunk), _ in part), tuple(number for _, number in part))

    async def _send(self, session: Session, batch: _Batch) -> NDArray[np.float32]:
        forms: dict[RequestForm, dict[str, object]] = {
            RequestForm.DOCUMENTS: {"model": self.model, "documents": batch.chunks, "top_n": len(batch.chunks)},
            RequestForm.TEXTS: {"texts": batch.chunks, "truncate": True},
        }
        reply = await session.post({"query": batch.query} | forms[self.form])
        return _scores(reply.content, len(batch.chunks))


def _scores(reply: object, n_chunks: int) -> NDArray[np.float32]:
    """Return the scores in the order of the chunks; the server sorts them by score.

    Raises Malformed unless the reply has one finite score per chunk.
    """
    results = get_objects(reply) if isinstance(reply, list) else get_objects(reply, "results")
    ordered = in_order(results, n_chunks)
    scores = to_float_array([result.get("relevance_score", result.get("score")) for result in ordered])
    if scores.shape != (n_chunks,):
        raise Malformed(f"scores of shape {scores.shape} for {n_chunks} chunks, expected one for each")
    return scores
