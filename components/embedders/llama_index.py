"""Any embedding class of llama-index, by its import path."""

import importlib
import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.pretrained.load_once import load_once
from components.protocols import EmbedderState
from components.records import Passages

_ROOT = "llama_index."
_SECRET = re.compile(r"(^|_)(key|token|secret|password|credentials?)$", re.IGNORECASE)


@dataclass(frozen=True)
class LlamaIndexEmbeddings:
    """Vectors of a class under `llama_index` that inherits BaseEmbedding, e.g.
    `llama_index.embeddings.ollama.OllamaEmbedding` of the package llama-index-embeddings-ollama; scaled to unit length.
    Equal texts are embedded once; the vectors of blank ones are zero.

    `arguments` are those of its constructor, and stand in the key of the vectors: what the model is called, its
    revision, what stands before a query. A secret is none of them: `api_key_env` names the environment variable that
    holds the argument `api_key`, "" for none. Many classes read a variable of their own, such as OPENAI_API_KEY.
    """

    class_path: str
    arguments: Mapping[str, bool | int | float | str]
    api_key_env: str = runtime_only("", "a key gives access, and is secret")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_chunks_per_block: ClassVar[int] = 2048

    def __hash__(self) -> int:
        """Of the arguments in any order."""
        return hash((self.class_path, frozenset(self.arguments.items()), self.api_key_env))

    @property
    def model(self) -> str:
        """What stands for the model that must be in memory: the class."""
        return self.class_path

    @property
    def revision(self) -> str:
        """What stands for its revision: the arguments."""
        return json.dumps(dict(self.arguments), sort_keys=True)

    def check(self) -> list[str]:
        """A class that cannot be meant, arguments that it does not take, secrets, and a key that is not set. Imports
        the class.
        """
        mistakes = [
            f"arguments.{name}: a secret has no place in a configuration, which is kept; name the environment variable "
            "that holds it, as in api_key_env=MY_KEY"
            for name in self.arguments
            if _SECRET.search(name)
        ]
        if self.api_key_env and self.api_key_env not in os.environ:
            mistakes.append(f"api_key_env: the environment variable {self.api_key_env} is not set")
        try:
            known, required = _arguments_of(_class(self.class_path))
        except ComponentError as error:
            return [*mistakes, f"class_path: {error}"]
        given = {*self.arguments, *(["api_key"] if self.api_key_env else [])}
        mistakes += [f"arguments.{name}: missing, {self.class_path} wants it" for name in sorted(required - given)]
        for name in sorted(given - known):
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}"
            mistakes.append(f"arguments.{name}: {self.class_path} has no such argument; {hint}")
        return mistakes

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
        vectors = np.zeros((len(texts), int(state["dimensions"][0])), dtype=np.float32)
        distinct = list(dict.fromkeys(text for text in texts if text.strip()))
        if distinct:
            found = self._ask(distinct, are_queries=are_queries)
            if found.shape != (len(distinct), vectors.shape[1]) or not np.isfinite(found).all():
                raise ComponentError(
                    f"{self.class_path}: got vectors of shape {found.shape}, wanted {len(distinct)} finite ones of "
                    f"{vectors.shape[1]} dimensions, as the first had"
                )
            row_of = {text: row for row, text in enumerate(distinct)}
            rows = [row for row, text in enumerate(texts) if text in row_of]
            unit = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
            vectors[rows] = unit[[row_of[texts[row]] for row in rows]]
        return vectors

    def _ask(self, texts: list[str], *, are_queries: bool) -> NDArray[np.float32]:
        embedding = _build(self.class_path, self.revision, self.api_key_env)
        try:
            if are_queries:
                return np.array([embedding.get_query_embedding(text) for text in texts], dtype=np.float32)
            return np.array(embedding.get_text_embedding_batch(texts), dtype=np.float32)
        except Exception as error:  # the classes share no exception class
            raise ComponentError(f"{self.class_path} cannot embed ({type(error).__name__}: {error})") from error


@load_once
def _build(class_path: str, arguments: str, api_key_env: str) -> Any:
    secret = {"api_key": os.environ[api_key_env]} if api_key_env else {}
    try:
        return _class(class_path)(**json.loads(arguments), **secret)
    except Exception as error:  # pydantic's, or whatever a constructor raises
        raise ComponentError(
            f"arguments: {class_path} cannot be made of them ({type(error).__name__}: {error})"
        ) from error


def _class(class_path: str) -> Any:
    """Raises ComponentError."""
    if not class_path.startswith(_ROOT):
        raise ComponentError(
            f"got {class_path!r}, wanted the import path of a class of llama-index, e.g. "
            "llama_index.embeddings.ollama.OllamaEmbedding"
        )
    module, _, name = class_path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        package = "-".join(["llama-index", *module.split(".")[1:3]]).replace("_", "-")
        raise ComponentError(
            f"{class_path!r} cannot be imported ({error}); its package may be missing: python -m pip install {package}"
        ) from error
    from llama_index.core.base.embeddings.base import BaseEmbedding

    if not (isinstance(found, type) and issubclass(found, BaseEmbedding)):
        raise ComponentError(f"{class_path!r} is no embedding class of llama-index, wanted a subclass of BaseEmbedding")
    return found


def _arguments_of(cls: Any) -> tuple[set[str], set[str]]:
    """What its constructor takes by name (its parameters, and the fields that it hands on), and what it must have."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    named = {each.name: each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    required = {name for name, each in named.items() if each.default is each.empty}
    if not named:  # that of pydantic itself
        required = {name for name, each in cls.model_fields.items() if each.is_required()}
    return {*named, *cls.model_fields}, required
