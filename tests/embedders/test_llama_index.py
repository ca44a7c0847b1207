"""Embedding classes of llama-index, found by their import path."""

import sys
from typing import Any

import numpy as np
import pytest

from components.embedders.llama_index import LlamaIndexEmbeddings
from components.errors import ComponentError
from components.records import Passages
from runner.engine.identity import describe
from tests.contracts.embedder_contract import EmbedderContract

LETTERS = "llama_index.embeddings.letters.Letters"
SOURCE = '''
from llama_index.core.base.embeddings.base import BaseEmbedding

asked = []


class Letters(BaseEmbedding):
    """Counts characters by their code, and begins with a number of its own."""

    first: float = 1.0
    api_key: str = ""
    fails: bool = False

    def _get_text_embedding(self, text):
        asked.append(text)
        if self.fails:
            raise RuntimeError("no such model")
        vector = [self.first] + [0.0] * 64
        for place, character in enumerate(text):
            vector[1 + (ord(character) + place) % 64] += 3.0
        return vector

    def _get_query_embedding(self, query):
        return self._get_text_embedding("query: " + query + self.api_key)

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)
'''


@pytest.fixture(scope="module", autouse=True)
def _package(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module in the namespace of llama-index, like an installed integration."""
    root = tmp_path_factory.mktemp("site")
    folder = root / "llama_index" / "embeddings"
    folder.mkdir(parents=True)
    (folder / "letters.py").write_text(SOURCE, encoding="utf-8")
    sys.path.append(str(root))
    yield
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.startswith("llama_index.embeddings")]:
        del sys.modules[name]


def letters(**arguments: Any) -> LlamaIndexEmbeddings:
    return LlamaIndexEmbeddings(LETTERS, arguments)


class TestLlamaIndexEmbeddings(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _letters(self) -> None:
        self.component = letters()


def test_llama_index_embedder_receives_arguments_and_query_calls() -> None:
    component = letters(first=100)
    state = component.fit(Passages([]))
    chunk = component.embed_chunks(Passages(["query: 北京"]), state)
    np.testing.assert_allclose(component.embed_queries(Passages(["北京"]), state), chunk, atol=1e-6)
    assert chunk[0, 0] > 0.9 > letters().embed_chunks(Passages(["query: 北京"]), state)[0, 0]


def test_llama_index_embedder_requests_equal_texts_once() -> None:
    component = letters()
    state = component.fit(Passages([]))
    from llama_index.embeddings.letters import asked

    asked.clear()
    vectors = component.embed_chunks(Passages(["北京", " ", "北京", "上海"]), state)
    assert asked == ["北京", "上海"]
    assert not vectors[1].any()


def test_embedding_key_comes_from_the_environment_and_not_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    with_key = LlamaIndexEmbeddings(LETTERS, {"first": 2.0}, api_key_env="LETTERS_KEY")
    (problem,) = with_key.check()
    assert problem.startswith("api_key_env: the environment variable LETTERS_KEY is not set. Set it")
    monkeypatch.setenv("LETTERS_KEY", "s3cret")
    assert with_key.check() == []
    state = with_key.fit(Passages([]))
    with_it, without = (own.embed_queries(Passages(["北京"]), state) for own in (with_key, letters(first=2.0)))
    assert abs(with_it - without).max() > 1e-3
    assert describe(with_key) == describe(letters(first=2.0))
    assert describe(letters(first=2.0)) != describe(letters())


@pytest.mark.parametrize(
    ("component", "problem"),
    [
        (
            LlamaIndexEmbeddings("os.path.join", {}),
            "class_path: got 'os.path.join', expected the import path of a class",
        ),
        (LlamaIndexEmbeddings("llama_index.embeddings.gone.Gone", {}), "pip install llama-index-embeddings-gone"),
        (LlamaIndexEmbeddings("llama_index.core.Document", {}), "expected a subclass of BaseEmbedding"),
        (LlamaIndexEmbeddings(LETTERS, {"frist": 1}), "Letters, expected one of "),
        (LlamaIndexEmbeddings("llama_index.core.MockEmbedding", {}), "arguments.embed_dim: missing"),
        (
            LlamaIndexEmbeddings(LETTERS, {"api_key": "s3cret"}),
            "arguments.api_key: must not contain a secret",
        ),
    ],
    ids=["another package", "not installed", "no embedding", "misspelt", "missing", "a secret"],
)
def test_llama_index_embedder_check_rejects_invalid_arguments(component: LlamaIndexEmbeddings, problem: str) -> None:
    (found,) = component.check()
    assert problem in found
    assert "s3cret" not in found


def test_max_tokens_argument_is_not_taken_for_a_secret() -> None:
    assert "a secret" not in " ".join(LlamaIndexEmbeddings(LETTERS, {"max_tokens": 5}).check())


def test_exception_of_a_llama_index_embedder_becomes_one_error() -> None:
    with pytest.raises(ComponentError, match=r"cannot embed \(RuntimeError: no such model\)"):
        letters(fails=True).fit(Passages([]))
    with pytest.raises(ComponentError, match=r"arguments: .* cannot be built from them"):
        letters(first="a word").fit(Passages([]))
