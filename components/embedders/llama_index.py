"""Embedders of llama-index, by the import path of their class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import distinct_texts, embed_distinct, unit_vectors
from components.errors import ComponentError
from components.fields import code_metadata, runtime_only
from components.pretrained.llama_index_class import LlamaIndexClass
from components.protocols import EmbedderState
from components.records import Passages

_BASE = "llama_index.core.base.embeddings.base.BaseEmbedding"
_EXAMPLE = "llama_index.embeddings.ollama.OllamaEmbedding"


@dataclass(frozen=True)
class LlamaIndexEmbeddings:
    """An embedding class of llama-index, e.g. `llama_index.embeddings.ollama.OllamaEmbedding`.

    The class must inherit `BaseEmbedding`. The class of the example is in the package llama-index-embeddings-ollama.
    Vectors are scaled to unit length. Equal texts are embedded once; blank texts are zero.

    `arguments` are passed to its constructor, and are part of the keys of its vectors. They include the model's name,
    its revision and the prefix of queries. They must not include secrets: `api_key_env` names the environment variable
    with the argument `api_key`, "" for none. Many classes read a variable such as OPENAI_API_KEY themselves.
    """

    class_path: str = field(metadata=code_metadata("the class"))
    arguments: Mapping[str, bool | int | float | str]
    api_key_env: str = runtime_only("", "a key gives access, and is secret")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None
    n_chunks_per_block: ClassVar[int] = 2048

    def __hash__(self) -> int:
        """Hash the arguments regardless of their order."""
        return hash((self.class_path, frozenset(self.arguments.items()), self.api_key_env))

    @property
    def model(self) -> str:
        """Name of the model in the arguments; the class path if they have none."""
        return self._class.model

    @property
    def revision(self) -> str:
        """The class and its arguments as JSON. It distinguishes classes with the same model."""
        return self._class.revision

    def check(self) -> list[str]:
        """Return error messages about the class, unknown or missing arguments, secrets, and an unset key. Imports the
        class.
        """
        return self._class.check()

    def fit(self, documents: Passages) -> EmbedderState:
        """Embed a single word and return `dimensions` float32[1], the length of its vector."""
        return {"dimensions": np.array([len(self._ask(["a"], are_queries=False)[0])], dtype=np.float32)}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, d]. Raises ComponentError if the class cannot be built or its model fails."""
        return self._embed(chunks.texts, state, are_queries=False)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries, computed one by one: llama-index has no batches of queries."""
        return self._embed(queries.texts, state, are_queries=True)

    def _embed(self, texts: Sequence[str], state: EmbedderState, *, are_queries: bool) -> NDArray[np.float32]:
        texts, n_dimensions = list(texts), int(state["dimensions"][0])
        distinct = distinct_texts(texts)
        vectors = np.zeros((0, n_dimensions), dtype=np.float32)
        if distinct:
            vectors = self._ask(distinct, are_queries=are_queries)
            if vectors.shape != (len(distinct), n_dimensions) or not np.isfinite(vectors).all():
                raise ComponentError(
                    f"{self.class_path}: got vectors of shape {vectors.shape}, expected {len(distinct)} finite vectors "
                    f"with {n_dimensions} dimensions like the first vector"
                )
        return embed_distinct(texts, distinct, unit_vectors(vectors), n_dimensions)

    def _ask(self, texts: list[str], *, are_queries: bool) -> NDArray[np.float32]:
        embedding = self._class.instance()
        try:
            if are_queries:
                return np.array([embedding.get_query_embedding(text) for text in texts], dtype=np.float32)
            return np.array(embedding.get_text_embedding_batch(texts), dtype=np.float32)
        except Exception as error:  # the classes share no exception class
            raise ComponentError(f"{self.class_path} cannot embed ({type(error).__name__}: {error})") from error

    @property
    def _class(self) -> LlamaIndexClass:
        return LlamaIndexClass(self.class_path, self.arguments, self.api_key_env, _BASE, _EXAMPLE)
