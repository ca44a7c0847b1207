"""Search in a collection of Qdrant, in the local mode of its client: a folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.embedders.hashing import Hashing
from components.errors import ComponentError
from components.records import IndexedText, Passages
from components.retrievers.qdrant import QdrantCollection
from tests.extras import skip_without
from tests.retrievers.test_retrievers import RetrieverContract
from tests.runner.sweeping import FEW_METRICS, cells_in, own_data, run_small

skip_without("qdrant_client", extra="qdrant")

TEXTS = ("The bridge was opened in 1932.", "The red towers are high.", "The harbour is deep.")
VECTORS = np.eye(3, dtype=np.float32)
REQUEST = '{"query": "{vector}", "limit": "{top_k}"}'


def fill(folder: Path, vectors: Any = VECTORS) -> Path:
    """Write a collection `passages`, as LangChain writes its payload."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder))
    size = models.VectorParams(size=len(vectors[0]), distance=models.Distance.DOT)
    client.create_collection("passages", vectors_config=size)
    points = [
        models.PointStruct(
            id=i, vector=vectors[i].tolist(), payload={"page_content": text, "metadata": {"source": "s"}}
        )
        for i, text in enumerate(TEXTS)
    ]
    client.upsert("passages", points)
    client.close()
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("qdrant"))


@pytest.fixture
def retriever(folder: Path) -> QdrantCollection:
    return QdrantCollection(
        collection="passages",
        request=REQUEST,
        revision="1",
        embedder=Hashing(),
        base_url=str(folder),
        text_field="page_content",
        document_field="metadata.source",
    )


class TestQdrantCollection(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _component(self, retriever: QdrantCollection) -> None:
        self.component = retriever


def find_texts(retriever: QdrantCollection) -> list[list[IndexedText]]:
    return list(retriever.find(["a", "b"], VECTORS[1:], 2))


def test_qdrant_vector_query_finds_the_nearest_points(retriever: QdrantCollection) -> None:
    first, second = find_texts(retriever)
    assert first[0] == IndexedText(TEXTS[1], "1", "s")
    assert second[0] == IndexedText(TEXTS[2], "2", "s")
    assert len(first) == 2


def test_qdrant_request_template_keeps_user_fields(retriever: QdrantCollection) -> None:
    only = '{"query": "{vector}", "limit": "{top_k}", "filter": {"must": [{"has_id": [0]}]}}'
    assert [[hit.id for hit in own] for own in find_texts(replace(retriever, request=only))] == [["0"], ["0"]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"collection": "other"}, "retriever.request: Qdrant refuses it: Collection other not found"),
        ({"text_field": "text"}, "retriever.text_field: a hit has no 'text'; its fields: metadata, page_content"),
        ({"text_field": "metadata"}, "retriever.text_field: got a JSON object in 'metadata', expected a string"),
        ({"request": '{"query": "{vector}", "limit": ["{top_k}"]}'}, "retriever.request: Qdrant refuses it: "),
    ],
)
def test_failed_qdrant_search_is_one_clear_error(
    retriever: QdrantCollection, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ComponentError) as error:
        find_texts(replace(retriever, **fields))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_qdrant_wrong_vector_dimension_is_an_error(retriever: QdrantCollection) -> None:
    with pytest.raises(ComponentError):
        list(retriever.find(["a"], np.zeros((1, 5), dtype=np.float32), 2))


def test_unreachable_qdrant_collection_is_an_error(retriever: QdrantCollection) -> None:
    with pytest.raises(
        ComponentError, match=r"retriever.base_url: the Qdrant server at http://127.0.0.1:9 does not answer"
    ):
        find_texts(replace(retriever, base_url="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"request": "no"}, "request: "),
        ({"request": "[1]"}, "request: "),
        (
            {"request": '{"query": "a {vector}", "limit": "{top_k}"}'},
            "request: got 'a {vector}', expected a placeholder",
        ),
        ({"collection": ""}, "collection: is empty"),
        ({"base_url": "nowhere"}, "base_url: got 'nowhere', expected an address"),
        ({"revision": ""}, "revision: is empty"),
    ],
)
def test_qdrant_collections_reject_invalid_settings(
    retriever: QdrantCollection, fields: dict[str, Any], message: str
) -> None:
    assert any(problem.startswith(message) for problem in replace(retriever, **fields).check())


def test_qdrant_sweep_finds_the_gold(tmp_path: Path) -> None:
    embedder = Hashing()
    (tmp_path / "qdrant").mkdir()
    folder = fill(tmp_path / "qdrant", embedder.embed_chunks(Passages(TEXTS), {}))
    sample = {"id": "1", "question": "harbour deep", "references": ["deep"], "gold": [{"document": "c"}]}
    data = own_data(tmp_path, dict(zip("abc", TEXTS, strict=True)), [sample])
    cell = [*data, *FEW_METRICS, "retriever=qdrant", "retriever.collection=passages", "retriever.revision=1"]
    own = [f"retriever.base_url={folder}", "retriever.text_field=page_content", "language=en", "top_k=2"]
    assert run_small(tmp_path, [*cell, *own]) == 0
    (done,) = cells_in(tmp_path)
    assert done.value("ndcg@10") == 1.0
