"""Embedders behind OpenAI's embeddings API, which vLLM, SGLang, llama.cpp, Ollama, TEI and most providers support."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.fields import added_later, runtime_only
from components.json_value import Json
from components.limits import too_small
from components.openai_server.body import MAX_BYTES, MAX_BYTES_PER_VECTOR
from components.openai_server.limiter import Account
from components.openai_server.received_replies import current_received, request_all
from components.openai_server.reply_reading import get_objects, in_order, to_float_array
from components.openai_server.server import Server, build_server
from components.openai_server.server_errors import HttpError, Malformed
from components.openai_server.session import Session
from components.protocols import EmbedderState
from components.records import Passages

_ROUNDS_PER_BLOCK = 8
_FIXED = {"model", "input", "dimensions"}
"""Parameters that fields of the class set, or that would change the form of the reply."""

_without_encoding: set[tuple[str, str]] = set()
"""Addresses and models that refused `encoding_format` in this process. Behind a router, models differ."""

Batch = tuple[tuple[str, str], ...]
"""Texts with their keys."""

Parameters = Mapping[str, bool | int | float | str]


@dataclass(frozen=True)
class _Side:
    """Request settings for queries or for chunks."""

    server: Server
    prefix: str
    body: Parameters

    def vector_key(self, text: str) -> str:
        """Return the key of the vector of a text, prefix included."""
        return json.dumps([self.server.model, self.body, text], sort_keys=True)


@dataclass(frozen=True)
class OpenAIEmbeddings:
    """A `model` that returns vectors for `batch_size` texts per request. Vectors are scaled to unit length.

    `query_prefix` and `passage_prefix` precede every query and every chunk, as models such as E5 require. `query_body`
    and `passage_body` are request parameters for queries and for chunks, e.g. `input_type: query`: NIM, Cohere, Voyage,
    Jina and others distinguish the two by a parameter. `extra_body` is sent with both, and `query_body` and
    `passage_body` override it. `query_model` and `passage_model` are names for servers with separate models; "" means
    `model`. `dimensions` is sent if it is set, for models that can shorten their vectors.

    Blank texts are not sent, and their vectors are zero. The other fields and the retries are as in `OpenAIChat`. A
    request that fails permanently fails the stage, because a corpus without some of its vectors would be a different
    corpus. The vectors received so far are stored, and are not requested again. Most servers reject a text that exceeds
    the model's limit, and some cut it; choose chunks that fit.
    """

    model: str
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    base_url: str = runtime_only("", "the model's name decides the vectors, not the server that runs it")
    api_key_env: str = runtime_only("OPENAI_API_KEY", "a key gives access, and is secret")
    batch_size: int = runtime_only(64, "a vector does not depend on the other texts of its request")
    timeout_s: float = runtime_only(120.0, "vectors that arrive too late are requested again")
    max_retries: int = runtime_only(5, "retries change no vector; if they do not suffice, the stage fails")
    backoff_s: float = runtime_only(1.0, "waiting changes no vector")
    concurrency: int = runtime_only(8, "requests do not depend on each other")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no vector")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no vector")
    extra_body: Parameters | None = added_later(None)
    query_body: Parameters | None = added_later(None)
    passage_body: Parameters | None = added_later(None)
    query_model: str = added_later("")
    passage_model: str = added_later("")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def __hash__(self) -> int:
        """Hash the parameters regardless of their order."""
        values = (getattr(self, field.name) for field in fields(self))
        return hash(tuple(frozenset(value.items()) if isinstance(value, Mapping) else value for value in values))

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the key is not set."""
        problems = self._server.check() + too_small(self, batch_size=1)
        if self.dimensions is not None and self.dimensions < 1:
            problems.append(
                f"dimensions: got {self.dimensions}, expected at least 1, or null for the model's own number"
            )
        for name in ("extra_body", "query_body", "passage_body"):
            if fixed := (getattr(self, name) or {}).keys() & _FIXED:
                problems.append(f"{name}: contains {sorted(fixed)}, which other fields set. Remove them.")
            if (encoding := (getattr(self, name) or {}).get("encoding_format", "float")) != "float":
                problems.append(f"{name}: got encoding_format={encoding!r}, expected 'float', the default of servers")
        return problems

    def max_dimensions(self) -> int | None:
        """Return `dimensions`, None if the model decides."""
        return self.dimensions

    def fit(self, documents: Passages) -> EmbedderState:
        """Embed a single word and return `dimensions` float32[1], the length of its vector."""
        return {"dimensions": np.array([len(self._ask(["a"], self._passages)[0])], dtype=np.float32)}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, d], unit length. Raises ComponentError if a request fails permanently."""
        return self._embed(chunks.texts, self._passages, state)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries; see `embed_chunks`."""
        return self._embed(queries.texts, self._queries, state)

    def request_keys(self, texts: Sequence[str], *, are_queries: bool) -> list[str]:
        """Return the keys of vectors among the received results; see `components.openai_server.received_replies`."""
        side = self._queries if are_queries else self._passages
        return [side.vector_key(side.prefix + text) for text in texts]

    @property
    def n_chunks_per_block(self) -> int:
        """Number of chunks that keeps the server busy; the vectors of a block form one file."""
        return _ROUNDS_PER_BLOCK * self.batch_size * self.concurrency

    @property
    def account(self) -> Account:
        """The account whose limits requests count against."""
        return self._server.account

    @property
    def _server(self) -> Server:
        return replace(build_server(self), settings="the embedder")

    @property
    def _queries(self) -> _Side:
        return self._side(self.query_model, self.query_prefix, self.query_body)

    @property
    def _passages(self) -> _Side:
        return self._side(self.passage_model, self.passage_prefix, self.passage_body)

    def _side(self, model: str, prefix: str, parameters: Parameters | None) -> _Side:
        dimensions = {} if self.dimensions is None else {"dimensions": self.dimensions}
        body = {**(self.extra_body or {}), **(parameters or {}), **dimensions}
        return _Side(replace(self._server, model=model or self.model), prefix, body)

    def _embed(self, texts: Sequence[str], side: _Side, state: EmbedderState) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), int(state["dimensions"][0])), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if rows:
            vectors[rows] = self._ask([side.prefix + texts[row] for row in rows], side, vectors.shape[1])
        return vectors

    def _ask(self, texts: Sequence[str], side: _Side, n_dimensions: int | None = None) -> list[NDArray[np.float32]]:
        """Return vectors of unit length in the order of the texts.

        Equal texts are sent once, and texts with stored vectors are not sent. Vectors without `n_dimensions` dimensions
        (None: any number) are not stored. Raises ComponentError if a request fails permanently.
        """
        keys, received = [side.vector_key(text) for text in texts], current_received()
        stored = received.get_all(keys)
        vectors = {key: vector for key, vector in stored.items() if n_dimensions in (None, len(vector))}
        missing = tuple((key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in vectors)
        batches = [missing[first : first + self.batch_size] for first in range(0, len(missing), self.batch_size)]

        async def send(session: Session, batch: Batch) -> NDArray[np.float32]:
            body = {"model": side.server.model, "input": [text for _, text in batch], **side.body}
            max_bytes = MAX_BYTES + len(batch) * MAX_BYTES_PER_VECTOR
            place = side.server.base_url, side.server.model
            encoding = {} if place in _without_encoding else {"encoding_format": "float"}
            try:
                reply = await session.post({**encoding, **body}, max_bytes=max_bytes)
            except HttpError as error:
                if not encoding or not _refuses_encoding(error):
                    raise
                _without_encoding.add(place)
                reply = await session.post(body, max_bytes=max_bytes)
            vectors = _unit_vectors(reply.content, len(batch))
            if n_dimensions not in (None, vectors.shape[1]):
                raise Malformed(
                    f"vectors of {vectors.shape[1]} dimensions, expected {n_dimensions} as in the first reply. The "
                    "model behind this name may have changed. Choose another run.store_dir (docs/troubleshooting.md)."
                )
            return vectors

        with closing(request_all(side.server, "/embeddings", batches, send, type(self).__name__)) as results:
            for batch, batch_vectors in results:
                arrived = dict(zip((key for key, _ in batch), batch_vectors, strict=True))
                received.add_all(arrived)
                vectors |= arrived
        return [vectors[key] for key in keys]


def _refuses_encoding(error: HttpError) -> bool:
    """Return True if a server refuses `encoding_format`, as Voyage and Jina do. Routers such as LiteLLM may need it."""
    text = str(error.body)
    names_it = any(words in text for words in ("encoding_format", "encoding format", "Extra inputs are not permitted"))
    return error.status in (400, 422, 500) and names_it


def _unit_vectors(reply: Json, n_texts: int) -> NDArray[np.float32]:
    """Return vectors of unit length in the order of the texts, which a server may change.

    Raises Malformed unless the reply has one vector of finite numbers per text.
    """
    data = in_order(get_objects(reply, "data"), n_texts, without_indexes=True)
    vectors = to_float_array([item.get("embedding") for item in data])
    if vectors.ndim != 2 or not vectors.size:
        raise Malformed(f"vectors of shape {vectors.shape} for {n_texts} texts, expected one for each")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():  # squares of large numbers overflow 32 bits
        vectors = vectors / np.abs(vectors).max(axis=1, keepdims=True, initial=1.0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
