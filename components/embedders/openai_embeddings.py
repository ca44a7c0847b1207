"""An embedder behind OpenAI's embeddings API, which vLLM, SGLang, llama.cpp, Ollama, TEI and most providers speak."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.openai_server.errors import Malformed
from components.openai_server.gate import Account
from components.openai_server.reading import in_order, numbers_of, objects_in
from components.openai_server.server import Failed, Server, server_of
from components.openai_server.session import Session
from components.protocols import EmbedderState
from components.records import Passages

_ROUNDS_PER_BLOCK = 8

Batch = tuple[tuple[int, str], ...]
"""Texts with their positions."""


@dataclass(frozen=True)
class OpenAIEmbeddings:
    """Asks `model` for the vectors of texts, `batch_size` of them in a request; vectors are scaled to unit length.

    `query_prefix` and `passage_prefix` stand before every query and every chunk, as models such as E5 want it.
    `dimensions` is sent if it is set, for models that can shorten their vectors. Blank texts are not sent: their
    vectors are zero. The other fields and what is retried are those of `OpenAIChat`. A request that fails for good
    fails the stage: a corpus of which a part has no vectors would be another one. A text that is longer than the model
    takes is refused by most servers and cut off by some; choose chunks that fit.
    """

    model: str
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    base_url: str = runtime_only("", "the model's name decides the vectors, not the server that runs it")
    api_key_env: str = runtime_only("OPENAI_API_KEY", "a key gives access, and is secret")
    batch_size: int = runtime_only(64, "a vector does not depend on the other texts of its request")
    timeout_s: float = runtime_only(120.0, "vectors that come too late are asked for again")
    max_retries: int = runtime_only(5, "failures are retried until the vectors come; without them the stage fails")
    backoff_s: float = runtime_only(1.0, "waiting changes no vector")
    concurrency: int = runtime_only(8, "requests do not depend on each other")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no vector")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no vector")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """What is wrong with the fields, and a key that is not set."""
        mistakes = self._server.check()
        if self.batch_size < 1:
            mistakes.append(f"batch_size: got {self.batch_size}, wanted at least 1")
        if self.dimensions is not None and self.dimensions < 1:
            mistakes.append(f"dimensions: got {self.dimensions}, wanted at least 1, or null for the model's own number")
        return mistakes

    def most_dimensions(self) -> int | None:
        """`dimensions`; the model's own number is not known."""
        return self.dimensions

    def fit(self, documents: Passages) -> EmbedderState:
        """`dimensions` float32[1]: how many the vectors have, which the server is asked by one word."""
        return {"dimensions": np.array([len(self._ask(["a"])[0])], dtype=np.float32)}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d], unit length. Raises ComponentError if a request fails for good."""
        return self._embed(chunks.texts, self.passage_prefix, state)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`."""
        return self._embed(queries.texts, self.query_prefix, state)

    @property
    def n_chunks_per_block(self) -> int:
        """Enough to keep the server busy; vectors are kept block by block, so that a kill or a budget loses one."""
        return _ROUNDS_PER_BLOCK * self.batch_size * self.concurrency

    @property
    def account(self) -> Account:
        """Whose limits requests count against."""
        return self._server.account

    @property
    def _server(self) -> Server:
        return server_of(self)

    def _embed(self, texts: Sequence[str], prefix: str, state: EmbedderState) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), int(state["dimensions"][0])), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        asked = self._ask([prefix + texts[row] for row in rows])
        if asked and len(asked[0]) != vectors.shape[1]:
            raise ComponentError(
                f"{self.model}: vectors of {len(asked[0])} dimensions came, and of {vectors.shape[1]} when the corpus "
                "was begun; is it another model under the same name? Wanted one model for chunks and queries"
            )
        if asked:
            vectors[rows] = asked
        return vectors

    def _ask(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Vectors of unit length, in the order of the texts. Raises ComponentError."""
        vectors: dict[int, NDArray[np.float32]] = {}
        numbered = tuple(enumerate(texts))
        batches = [numbered[first : first + self.batch_size] for first in range(0, len(texts), self.batch_size)]
        with closing(self._server.call("/embeddings", batches, self._send)) as outcomes:
            for batch, outcome in outcomes:
                if isinstance(outcome, Failed):
                    raise ComponentError(f"{type(self).__name__}: {outcome.message}")
                vectors |= {position: vector for (position, _), vector in zip(batch, outcome, strict=True)}
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise ComponentError(f"{self.model}: vectors of several lengths came, wanted one length for all texts")
        return [vectors[position] for position in range(len(texts))]

    async def _send(self, session: Session, batch: Batch) -> NDArray[np.float32]:
        asked: dict[str, Any] = {"model": self.model, "input": [text for _, text in batch], "encoding_format": "float"}
        asked |= {} if self.dimensions is None else {"dimensions": self.dimensions}
        return _unit_vectors((await session.post(asked)).content, len(batch))


def _unit_vectors(reply: Any, n_texts: int) -> NDArray[np.float32]:
    """Of unit length, in the order of the texts, which a server may change. Raises Malformed."""
    data = in_order(objects_in(reply, "data"), n_texts)
    vectors = numbers_of([item.get("embedding") for item in data])
    if vectors.ndim != 2 or not vectors.size:
        raise Malformed(f"vectors of shape {vectors.shape} for {n_texts} texts, wanted one for each")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():  # squares of large numbers leave 32 bits
        vectors = vectors / np.abs(vectors).max(axis=1, keepdims=True, initial=1.0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
