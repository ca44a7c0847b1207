"""Any embedding class of llama-index, by its import path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import distinct_texts, unit_vectors, vectors_of_all
from components.errors import ComponentError
from components.fields import naming_code, runtime_only
from components.pretrained.llama_index_class import LlamaIndexClass
from components.protocols import EmbedderState
from components.records import Passages

_BASE = "llama_index.core.base.embeddings.base.BaseEmbedding"
_EXAMPLE = "llama_index.embeddings.ollama.OllamaEmbedding"


@dataclass(frozen=True)
class LlamaIndexEmbeddings:
    """Vectors of a class under `llama_index` that inherits BaseEmbedding, e.g.
    `llama_index.embeddings.ollama.OllamaEmbedding` of the package llama-index-embeddings-ollama; scaled to unit length.
    Equal texts are embedded once; the vectors of blank ones are zero.

    `arguments` are those of its constructor, and stand in the key of the vectors: what the model is called, its
    revision, what stands before a query. A secret is none of them: `api_key_env` names the environment variable that
    holds the argument `api_key`, "" for none. Many classes read a variable of their own, such as OPENAI_API_KEY.
    """

    class_path: str = field(metadata=naming_code("the class"))
    arguments: Mapping[str, bool | int | float | str]
    api_key_env: str = runtime_only("", "a key gives access, and is secret")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None
    n_chunks_per_block: ClassVar[int] = 2048

    def __hash__(self) -> int:
        """Of the arguments in any order."""
        return hash((self.class_path, frozenset(self.arguments.items()), self.api_key_env))

    @property
    def model(self) -> str:
        """What the arguments call the model; the class where they name none."""
        return self._class.model

    @property
    def revision(self) -> str:
        """What tells it apart from others of the same model: the class and the arguments."""
        return self._class.revision

    def check(self) -> list[str]:
        """A class that cannot be meant, arguments that it does not take, secrets, and a key that is not set. Imports
        the class.
        """
        return self._class.check()

    def fit(self, documents: Passages) -> EmbedderState:
        """`dimensions` float32[1]: how many the vectors have, which the model is asked by one word."""
        return {"dimensions": np.array([len(self._ask(["a"], are_queries=False)[0])], dtype=np.float32)}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d]. Raises ComponentError if the class cannot be built or its model cannot be asked."""
        return self._embed(chunks.texts, state, are_queries=False)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`, one by one: llama-index has no other way for queries."""
        return self._embed(queries.texts, state, are_queries=True)

    def _embed(self, texts: Sequence[str], state: EmbedderState, *, are_queries: bool) -> NDArray[np.float32]:
        texts, n_dimensions = list(texts), int(state["dimensions"][0])
        distinct = distinct_texts(texts)
        found = np.zeros((0, n_dimensions), dtype=np.float32)
        if distinct:
            found = self._ask(distinct, are_queries=are_queries)
            if found.shape != (len(distinct), n_dimensions) or not np.isfinite(found).all():
                raise ComponentError(
                    f"{self.class_path}: got vectors of shape {found.shape}, expected {len(distinct)} finite ones of "
                    f"{n_dimensions} dimensions, as the first had"
                )
        return vectors_of_all(texts, distinct, unit_vectors(found), n_dimensions)

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
