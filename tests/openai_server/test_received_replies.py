"""Vectors and scores received before a server died or a process was killed are never requested again."""

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.openai_server.received_replies import use_received
from components.records import Passages
from runner.engine.store.received_numbers import ReceivedNumbers
from tests.embedders.test_openai_embeddings import embedder_at, embeddings, vectors_of
from tests.llms.chat_server import Reply, chat_server
from tests.rerankers.test_rerank_api import as_jina
from tests.runner.pipeline.test_server_requests import embedding, reranking
from tests.runner.sweeping import cells_in, end_group, run_small, start_command, wait_until

BATCH = 20
CONCURRENCY = 2


class Mortal:
    """A server that answers a number of requests. Later ones fail or hang, until it is `revived`."""

    def __init__(self, n_answered: int, *, hangs: bool = False) -> None:
        self.n_left = n_answered
        self.revived = threading.Event()
        self.answered: Counter[str] = Counter()
        self.n_refused = 0
        self._hangs = hangs
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any], attempt: int) -> Reply:
        with self._lock:
            self.n_left -= 1
            is_answered = self.n_left >= 0 or self.revived.is_set()
            if is_answered:
                texts = (
                    request["input"]
                    if "input" in request
                    else [f"{request['query']} {t}" for t in request["documents"]]
                )
                self.answered.update(texts)
            else:
                self.n_refused += 1
        if not is_answered:
            return Reply(delay_s=30.0) if self._hangs and self.revived.wait(30.0) else Reply(status=500)
        return embeddings(vectors_of(request["input"])) if "input" in request else as_jina(request)

    @property
    def n_asked_again(self) -> int:
        return sum(n - 1 for n in self.answered.values())


def overrides(server: Any, *more: str) -> list[str]:
    own = [
        f"embedder.concurrency={CONCURRENCY}",
        f"embedder.batch_size={BATCH}",
        "embedder.max_retries=0",
        "chunk.size=32",
    ]
    return embedding(server, *own, *more)


@pytest.mark.parametrize("n_answered", [1, 7, 30])
def test_results_received_before_a_server_failure_are_reused(tmp_path: Path, n_answered: int) -> None:
    mortal = Mortal(n_answered)
    with chat_server(mortal) as server:
        assert run_small(tmp_path, overrides(server)) == 1
        mortal.revived.set()
        n_before = mortal.answered.total()
        assert n_before > (n_answered - 1) * BATCH * 0.9
        assert run_small(tmp_path, overrides(server), sweep_id="again") == 0
    once = Mortal(10**6)
    with chat_server(once) as server:
        assert run_small(tmp_path / "once", overrides(server)) == 0
    assert mortal.answered.keys() == once.answered.keys()
    assert mortal.n_asked_again <= once.n_asked_again, "equal texts in several stages, such as a block and the queries"
    values = [
        cells_in(folder, sweep)[0].value("ndcg@10")
        for folder, sweep in ((tmp_path, "again"), (tmp_path / "once", "a-sweep"))
    ]
    assert values[0] == values[1]
    assert not list(tmp_path.rglob("*.received")), "the finished stages are the only copy"


@pytest.mark.parametrize("n_workers", [1, 2])
def test_killed_sweep_loses_only_open_requests(tmp_path: Path, n_workers: int) -> None:
    mortal = Mortal(9, hangs=True)
    with chat_server(mortal) as server:
        small = ["dataset.limit=12", "metrics.interval.n_resamples=100", "tracking=none", "run.progress=false"]
        command = [*small, *overrides(server, f"run.workers={n_workers}", "run.documents_per_block=40")]
        process = start_command(tmp_path, *command)
        wait_until(lambda: mortal.n_refused >= 1, process)
        wait_until(lambda: bool(list(tmp_path.rglob("*.received")) or mortal.n_left < -CONCURRENCY), process)
        end_group(process)
        process.communicate(timeout=30)
        mortal.revived.set()
        before = mortal.answered.total()
        again = start_command(tmp_path, *command)
        out, err = again.communicate(timeout=120)
        assert again.returncode == 0, out + err
    assert before > 5 * BATCH
    on_their_way = n_workers * CONCURRENCY * BATCH
    n_distinct_twice = sum(1 for n in mortal.answered.values() if n > 1)
    assert n_distinct_twice <= on_their_way + 5, "some texts stand twice in the corpus"


@pytest.mark.parametrize(("before", "after"), [(40, 25), (25, 112)])
def test_received_results_are_reused_with_another_block_size(tmp_path: Path, before: int, after: int) -> None:
    """The server dies in the middle of a block; the repeated command has blocks of another size."""
    mortal, once = Mortal(12), Mortal(10**6)
    with chat_server(mortal) as server:
        assert run_small(tmp_path, overrides(server, f"run.documents_per_block={before}")) == 1
        mortal.revived.set()
        assert run_small(tmp_path, overrides(server, f"run.documents_per_block={after}"), sweep_id="again") == 0
    with chat_server(once) as server:
        assert run_small(tmp_path / "once", overrides(server)) == 0
    assert mortal.answered.keys() == once.answered.keys()
    assert mortal.n_asked_again <= once.n_asked_again
    assert not list(tmp_path.rglob("*.received"))


def test_scores_received_before_a_reranker_failure_are_reused(tmp_path: Path) -> None:
    mortal = Mortal(11)
    with chat_server(mortal) as server:
        own = reranking(server, "reranker.max_retries=0", "reranker.concurrency=2", "retriever=bm25")
        assert run_small(tmp_path, own) == 1
        mortal.revived.set()
        n_before = mortal.answered.total()
        assert n_before >= 15
        assert run_small(tmp_path, own, sweep_id="again") == 0
    assert mortal.n_asked_again == 0
    assert not list(tmp_path.rglob("*.received"))


def test_failed_batch_waits_for_running_requests(tmp_path: Path) -> None:
    """The server refuses one text permanently. A request at the same time succeeds a moment later and counts."""

    def script(request: dict[str, Any], attempt: int) -> Reply:
        if "bad" in request["input"]:
            return Reply(status=400)
        return Reply(delay_s=0.3, body=embeddings(vectors_of(request["input"])).body)

    texts = ["bad", "slow", *(f"never sent {n}" for n in range(50))]
    received = ReceivedNumbers(tmp_path)
    with chat_server(script) as server, use_received(received):
        embedder = embedder_at(server.url, batch_size=1, concurrency=2)
        with pytest.raises(Exception, match="HTTP 400"):
            embedder.embed_chunks(Passages(texts), {"dimensions": np.array([32], dtype=np.float32)})
        assert received.get_all(embedder.request_keys(["slow"], are_queries=False))
        assert len(server.requests) < 10


def test_vectors_of_a_wrong_length_are_not_stored(tmp_path: Path) -> None:
    """After the repair of the server, the same sweep succeeds and requests only the refused vectors."""
    is_mended, good, once = threading.Event(), Mortal(10**6), Mortal(10**6)

    def script(request: dict[str, Any], attempt: int) -> Reply:
        is_wrong = good.answered.total() > BATCH and not is_mended.is_set()
        return embeddings([[1.0] * 5 for _ in request["input"]]) if is_wrong else good(request, attempt)

    with chat_server(script) as server:
        assert run_small(tmp_path, overrides(server)) == 1
        (failed,) = cells_in(tmp_path)
        assert "vectors of 5 dimensions, expected 32 as in the first reply" in failed.reason
        is_mended.set()
        assert run_small(tmp_path, overrides(server), sweep_id="again") == 0
    with chat_server(once) as server:
        assert run_small(tmp_path / "once", overrides(server)) == 0
    assert good.answered.keys() == once.answered.keys()
    assert good.n_asked_again <= once.n_asked_again


class TestKept:
    def values(self, n: int) -> dict[str, Any]:
        return {f"key {i}": np.arange(i, i + 3, dtype=np.float32) for i in range(n)}

    def kept(self, folder: Path, keys: Sequence[str]) -> dict[str, list[float]]:
        return {key: own.tolist() for key, own in ReceivedNumbers(folder).get_all(keys).items()}

    def test_other_processes_read_received_results(self, tmp_path: Path) -> None:
        values = self.values(5)
        ReceivedNumbers(tmp_path).add_all(values)
        ReceivedNumbers(tmp_path).add_all({"another": np.zeros(2, dtype=np.float32)})
        expected = {key: own.tolist() for key, own in values.items()}
        assert self.kept(tmp_path, [*values, "unknown"]) == expected
        assert self.kept(tmp_path, ["another"]) == {"another": [0.0, 0.0]}

    def test_received_results_create_no_file_before_the_first(self, tmp_path: Path) -> None:
        numbers = ReceivedNumbers(tmp_path / "new")
        assert numbers.get_all(["a"]) == {}
        numbers.add_all({})
        numbers.drop()
        assert not (tmp_path / "new").exists()

    def test_torn_or_damaged_record_ends_its_file(self, tmp_path: Path) -> None:
        values = self.values(5)
        ReceivedNumbers(tmp_path).add_all(values)
        (path,) = tmp_path.iterdir()
        whole = path.read_bytes()
        for n_bytes in range(len(whole)):
            path.write_bytes(whole[:n_bytes])
            assert len(self.kept(tmp_path, list(values))) == n_bytes * 5 // len(whole)
        for place in range(len(whole)):
            path.write_bytes(whole)
            damaged = bytearray(whole)
            damaged[place] ^= 0xFF
            path.write_bytes(bytes(damaged))
            found = self.kept(tmp_path, list(values))
            assert len(found) == place * 5 // len(whole)
            assert found.items() <= {key: own.tolist() for key, own in values.items()}.items()

    def test_reader_finds_results_written_later(self, tmp_path: Path) -> None:
        reader, values = ReceivedNumbers(tmp_path), self.values(3)
        for n in range(1, 4):
            ReceivedNumbers(tmp_path).add_all({f"key {n - 1}": values[f"key {n - 1}"]})
            assert len(reader.get_all(list(values))) == n
        ReceivedNumbers(tmp_path).drop()
        assert reader.get_all(list(values)) == {}

    def test_owner_drops_only_its_received_results(self, tmp_path: Path) -> None:
        folder = tmp_path / "shared"
        first, second = ReceivedNumbers(folder, "a"), ReceivedNumbers(folder, "b")
        first.add_all(self.values(1))
        second.add_all({"another": np.zeros(2, dtype=np.float32)})
        assert self.kept(folder, ["key 0", "another"]).keys() == {"key 0", "another"}
        first.drop()
        assert self.kept(folder, ["key 0", "another"]).keys() == {"another"}
        second.drop()
        assert not folder.exists()

    def test_dropped_results_are_deleted_from_disk(self, tmp_path: Path) -> None:
        numbers = ReceivedNumbers(tmp_path)
        numbers.add_all(self.values(2))
        numbers.drop()
        assert list(tmp_path.iterdir()) == []
        numbers.add_all(self.values(1))
        assert len(numbers.get_all(["key 0"])) == 1
