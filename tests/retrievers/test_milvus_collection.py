"""Search in a collection of Milvus Lite: a server in the client's process, with a database in a folder."""

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.embedders.hashing import Hashing
from components.errors import ComponentError
from components.records import IndexedText, Passages
from components.retrievers.milvus import MilvusCollection
from tests.extras import skip_without
from tests.retrievers.test_retrievers import RetrieverContract
from tests.runner.sweeping import FEW_METRICS, cells_in, own_data, run_small

skip_without("pymilvus", "milvus_lite", extra="milvus")

TEXTS = ("The bridge was opened in 1932.", "The red towers are high.", "The harbour is deep.")
VECTORS = np.eye(3, dtype=np.float32)
REQUEST = '{"data": ["{vector}"], "limit": "{top_k}"}'


def fill(folder: Path, vectors: Any = VECTORS) -> Path:
    """Write a collection `passages` with a text, and metadata as JSON."""
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import MilvusClient

    path = folder / "passages.db"
    client = MilvusClient(str(path))
    client.create_collection("passages", dimension=len(vectors[0]), metric_type="IP", auto_id=False)
    rows = [
        {"id": i, "vector": vectors[i].tolist(), "page_content": text, "metadata": {"source": "s"}}
        for i, text in enumerate(TEXTS)
    ]
    client.insert("passages", rows)
    client.close()
    server_manager_instance.release_server(str(path))
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("milvus"))


@pytest.fixture
def retriever(path: Path) -> MilvusCollection:
    return MilvusCollection(
        collection="passages",
        request=REQUEST,
        revision="1",
        embedder=Hashing(),
        base_url=str(path),
        text_field="page_content",
        document_field="metadata.source",
    )


class TestMilvusCollection(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _component(self, retriever: MilvusCollection) -> None:
        self.component = retriever


def find_texts(retriever: MilvusCollection) -> list[list[IndexedText]]:
    return list(retriever.find(["a", "b"], VECTORS[1:], 2))


def test_milvus_vector_query_finds_the_nearest_texts(retriever: MilvusCollection) -> None:
    first, second = find_texts(retriever)
    assert first[0] == IndexedText(TEXTS[1], "1", "s")
    assert second[0] == IndexedText(TEXTS[2], "2", "s")
    assert len(first) == 2


def test_milvus_request_template_keeps_user_fields(retriever: MilvusCollection) -> None:
    only = '{"data": ["{vector}"], "limit": "{top_k}", "filter": "id == 0"}'
    assert [[hit.id for hit in own] for own in find_texts(replace(retriever, request=only))] == [["0"], ["0"]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"collection": "other"}, "retriever.request: Milvus refuses it: "),
        ({"text_field": "text"}, "retriever.text_field: a hit has no 'text'; its fields: "),
        ({"text_field": "metadata"}, "retriever.text_field: got a JSON object in 'metadata', expected a string"),
        ({"request": '{"data": ["{vector}"], "limit": ["{top_k}"]}'}, "retriever.request: Milvus refuses it: "),
        ({"request": '{"data": ["{vector}"], "limit": "{top_k}", "filter": "x +"}'}, "retriever.request: Milvus"),
        (
            {"request": '{"data": ["{vector}"], "limit": "{top_k}", "self": 1}'},
            "retriever.request: Milvus refuses it: ",
        ),
    ],
)
def test_failed_milvus_search_is_one_clear_error(
    retriever: MilvusCollection, fields: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ComponentError) as error:
        find_texts(replace(retriever, **fields))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_milvus_wrong_vector_dimension_names_the_embedder(retriever: MilvusCollection) -> None:
    with pytest.raises(ComponentError, match=r"gives no reason\. Do your vectors .* have the dimension"):
        list(retriever.find(["a"], np.zeros((1, 5), dtype=np.float32), 2))


def test_unreachable_milvus_server_is_an_error(retriever: MilvusCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_MILVUS", "a-long-secret-token-7731")
    gone = replace(retriever, base_url="http://127.0.0.1:9", api_key_env="TOKEN_OF_MILVUS", timeout_s=1.0)
    with pytest.raises(ComponentError, match=r"retriever.base_url: Milvus at http://127.0.0.1:9 cannot be opened"):
        find_texts(gone)


def test_milvus_database_opened_by_another_client_is_an_error(retriever: MilvusCollection) -> None:
    command = [
        sys.executable,
        "-c",
        f"from pymilvus import MilvusClient; MilvusClient({retriever.base_url!r}); print(1, flush=True); input()",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "1\n"
        with pytest.raises(
            ComponentError, match=r"cannot be opened \(.*one process at a time can open a database.*run.workers=1"
        ):
            find_texts(retriever)
        other.stdin.close()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"request": "no"}, "request: "),
        ({"request": '{"data": ["a {vector}"], "limit": "{top_k}"}'}, "request: got 'a {vector}', expected a"),
        ({"collection": ""}, "collection: is empty"),
        ({"base_url": "nowhere.db"}, "base_url: got 'nowhere.db', expected an address"),
        ({"base_url": ""}, "base_url: is empty"),
        ({"base_url": "http://user:pw@127.0.0.1"}, "base_url: "),
        ({"revision": ""}, "revision: is empty"),
        ({"timeout_s": 0}, "timeout_s: got 0"),
    ],
)
def test_milvus_rejects_invalid_settings(retriever: MilvusCollection, fields: dict[str, Any], message: str) -> None:
    assert any(problem.startswith(message) for problem in replace(retriever, **fields).check())


def test_milvus_sweep_finds_the_gold(tmp_path: Path) -> None:
    path = fill(tmp_path, Hashing().embed_chunks(Passages(TEXTS), {}))
    sample = {"id": "1", "question": "harbour deep", "references": ["deep"], "gold": [{"document": "c"}]}
    data = own_data(tmp_path, dict(zip("abc", TEXTS, strict=True)), [sample])
    cell = [*data, *FEW_METRICS, "retriever=milvus", "retriever.collection=passages", "retriever.revision=1"]
    own = [f"retriever.base_url={path}", "retriever.text_field=page_content", "language=en", "top_k=2"]
    assert run_small(tmp_path, [*cell, *own]) == 0
    (done,) = cells_in(tmp_path)
    assert done.value("ndcg@10") == 1.0
