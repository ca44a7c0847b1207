"""Search on a Qdrant server: in the client's trial mode, and by requests to a stand-in for the server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from components.datasets.demo import Demo
from components.errors import ComponentError, DamagedEntryError
from components.protocols import ExternalIndex
from components.vector_indexes import mapped
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.qdrant import IN_PROCESS, Qdrant
from tests.contracts.vector_index_contract import AnySizeContract, built
from tests.extras import skip_without
from tests.runner.pipeline.test_sub_corpora import benchmark
from tests.runner.sweeping import QUIET, RANKING_ONLY, SMALL, cells_in, run_small
from tests.vector_indexes.clusters import clustered_vectors, round_to_grid
from tests.vector_indexes.qdrant_server import QdrantServer, qdrant_server

skip_without("qdrant_client", extra="qdrant")

VECTORS, QUERIES = round_to_grid(clustered_vectors(700)), round_to_grid(clustered_vectors(20, seed=1))
SECRET = "s3cret-of-qdrant"


class TestTrialMode(AnySizeContract):
    component = Qdrant(base_url=IN_PROCESS)


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with qdrant_server() as running:
        yield running


@pytest.fixture
def index(server: QdrantServer) -> Qdrant:
    return Qdrant(base_url=server.url, batch_size=100, timeout_s=5)


def place(tmp_path: Path, name: str = "abc") -> Path:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("exact", [True, False])
def test_exact_qdrant_hits_equal_flat(index: Qdrant, server: QdrantServer, exact: bool) -> None:
    vectors = VECTORS.copy()
    vectors[[300, 5, 699, 41]] = vectors[7]
    queries = np.concatenate([vectors[7:8], QUERIES])
    index = replace(index, exact=exact)
    found = index.search(built(index, vectors), vectors, queries, 30)
    expected = Flat().search({}, vectors, queries, 30)
    assert found.chunk[0, :5].tolist() == [5, 7, 41, 300, 699]
    np.testing.assert_array_equal(found.chunk, expected.chunk)
    np.testing.assert_array_equal(found.score, expected.score)
    (collection,) = server.collections.values()
    assert collection.configuration["vectors"] == {"size": 64, "distance": "Dot", "on_disk": True}
    assert collection.configuration["hnsw_config"]["m"] == (0 if exact else 16)
    search = next(body for asked, body in server.requests if asked.endswith("query/batch"))["searches"][0]
    assert search["params"] == {"exact": exact, "hnsw_ef": 256}


def test_qdrant_receives_batches_of_vectors_under_their_positions(
    index: Qdrant, server: QdrantServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 256)
    made = index.build(VECTORS, place(tmp_path))
    assert made == {"collection": "rag-grid-abc", "n_vectors": 700}
    points = server.collections["rag-grid-abc"].points
    np.testing.assert_array_equal(np.array([points[i] for i in range(700)], dtype=np.float32), VECTORS)
    assert server.n_requests("PUT", "/points") == 8  # 3 + 3 + 2


def test_complete_qdrant_collection_is_reused_and_a_partial_one_completed(
    index: Qdrant, server: QdrantServer, tmp_path: Path
) -> None:
    index.build(VECTORS, place(tmp_path))
    n_sent = server.n_requests("PUT", "/points")
    index.build(VECTORS, place(tmp_path))
    assert server.n_requests("PUT", "/points") == n_sent
    points = server.collections["rag-grid-abc"].points
    del points[5], points[699]
    index.build(VECTORS, place(tmp_path))
    assert len(points) == 700
    assert server.n_requests("PUT", "/rag-grid-abc") == 1
    points[700] = points[0]  # another client overwrites the point
    index.build(VECTORS, place(tmp_path))
    assert len(server.collections["rag-grid-abc"].points) == 700


def test_changed_qdrant_collection_is_reported_as_damaged(index: Qdrant, server: QdrantServer, tmp_path: Path) -> None:
    assert isinstance(index, ExternalIndex)
    made = index.build(VECTORS, place(tmp_path))
    assert index.lost(made) == []
    del server.collections["rag-grid-abc"].points[3]
    assert index.lost(made) == [f"the collection rag-grid-abc at {server.url} has 699 vectors, expected 700"]
    server.collections.clear()
    with pytest.raises(DamagedEntryError, match=r"rag-grid-abc at http.* does not exist; a sweep"):
        index.search(made, VECTORS, QUERIES, 5)


def test_unreachable_qdrant_server_is_reported(tmp_path: Path) -> None:
    with qdrant_server() as server:
        index = Qdrant(base_url=server.url, timeout_s=2)
        made = index.build(VECTORS, place(tmp_path))
    with pytest.raises(ComponentError, match=rf"Qdrant server at {server.url} does not answer .*Start it"):
        index.search(made, VECTORS, QUERIES, 5)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_qdrant_key_appears_only_in_the_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index = Qdrant(api_key_env="QDRANT_API_KEY")
    assert any("QDRANT_API_KEY is not set" in problem for problem in index.check())
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    assert index.check() == []
    with qdrant_server(SECRET) as server:
        replace(index, base_url=server.url).build(VECTORS, place(tmp_path))
    with qdrant_server("another") as server:
        with pytest.raises(ComponentError, match=r"rejects the key\. Set vector_index\.api_key_env") as raised:
            replace(index, base_url=server.url).build(VECTORS, place(tmp_path))
        assert SECRET not in str(raised.value)


def test_qdrant_server_error_hides_the_key(
    server: QdrantServer, index: Qdrant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server, "answer", lambda *_: (507, "no space left"))
    with pytest.raises(ComponentError, match=r"rejects the request \(.*507.*no space left.*\)\. See its log"):
        index.build(VECTORS, place(tmp_path))


def test_search_only_qdrant_fields_share_a_collection() -> None:
    graph = Qdrant(exact=False)
    assert replace(graph, ef_search=9).as_built == graph.as_built
    assert replace(graph, n_links=9).as_built != graph.as_built
    assert Qdrant(n_links=9, ef_search=9).as_built == Qdrant().as_built
    assert Qdrant().as_built != graph.as_built


def test_qdrant_index_rejects_invalid_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Qdrant(base_url="", n_links=0, timeout_s=0, batch_size=0).check() == [
        "n_links: got 0, expected at least 1",
        "batch_size: got 0, expected at least 1",
        "timeout_s: got 0, expected more than 0",
        "base_url: is empty, expected the server's address, such as http://localhost:6333",
    ]
    assert Qdrant(base_url="host").check() == [
        "base_url: got 'host', expected an address such as http://localhost:6333"
    ]
    assert "contains a user name or password" in Qdrant(base_url="http://me:pw@host:6333").check()[0]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (missing,) = Qdrant().check()
    assert missing.startswith("vector_index=qdrant needs the package 'qdrant-client', which is not installed")
    assert "[qdrant]" in missing


SWEEP = (*SMALL, *QUIET, *RANKING_ONLY, "retriever=dense")


class TestSweep:
    def options(self, server: QdrantServer, *more: str) -> tuple[str, ...]:
        return (*SWEEP, "vector_index=qdrant", f"vector_index.base_url={server.url}", *more)

    def test_qdrant_sweep_equals_a_flat_sweep(self, tmp_path: Path, server: QdrantServer) -> None:
        assert run_small(tmp_path, SWEEP, self.options(server)) == 0
        flat, own = cells_in(tmp_path)
        assert flat.metrics == own.metrics
        assert server.n_requests("POST", "query/batch") > 0

    def test_dropped_collection_is_rebuilt(
        self, tmp_path: Path, server: QdrantServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, self.options(server)) == 0
        before = {name: collection.points for name, collection in server.collections.items()}
        server.collections.clear()
        assert run_small(tmp_path, self.options(server, "retriever.depth=20")) == 0
        assert {name: collection.points for name, collection in server.collections.items()} == before
        said = capsys.readouterr().out
        assert "vector_index" in said
        assert "does not exist" in said

    def test_each_corpus_has_its_own_collection(
        self, tmp_path: Path, server: QdrantServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Demo, "load", lambda self: benchmark(several=True))
        assert run_small(tmp_path, SWEEP, self.options(server)) == 0
        flat, own = cells_in(tmp_path)
        assert flat.metrics == own.metrics
        assert {name[-2:] for name in server.collections} == {"-0", "-1"}
        del server.collections[next(name for name in server.collections if name.endswith("-1"))]
        assert run_small(tmp_path, self.options(server, "retriever.depth=20")) == 0
        assert len(server.collections) == 2

    def test_unavailable_qdrant_server_fails_the_cell_with_one_sentence(
        self, tmp_path: Path, server: QdrantServer
    ) -> None:
        with qdrant_server() as gone:
            pass
        assert run_small(tmp_path, self.options(gone)) == 1
        (cell,) = cells_in(tmp_path)
        assert cell.reason.count(f"the Qdrant server at {gone.url} does not answer") == 1
