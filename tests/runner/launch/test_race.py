"""Sweeps with a race, against a server that counts requests. Models answer right with a probability in their name."""

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import read_table

from runner.results import OK, STOPPED, CellResult, load
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import cells_in, metrics_text, own_data, run_small, sweep_in

N = 60
MODELS = ("m90", "m85", "m30", "m05")
FEW = (
    "metrics.scores.trec.measures=[ndcg@10]",
    *(f"~metrics.scores.{name}" for name in ("bleu", "length", "mrr_per_document")),
)
RACE = ("race=betting", "race.metric=em")


def reply(request: dict[str, object], _: int) -> Reply:
    """Answers "word 17" to the question about 17, or something wrong."""
    number = last_message(request).rpartition("number ")[2].split("?")[0]
    model = str(request["model"])
    is_right = random.Random(f"{model} {number}").random() < int(model[1:3]) / 100
    return Reply(f"word {number}" if is_right else "nothing of that kind")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(reply) as running:
        yield running


def cells_of(folder: Path, server: ChatServer, *more: str, models: tuple[str, ...] = MODELS) -> list[tuple[str, ...]]:
    """Returns the overrides of a cell per model."""
    samples = [{"id": f"s{i}", "question": f"What about number {i}?", "references": [f"word {i}"]} for i in range(N)]
    data = own_data(folder, {f"d{i}": f"About number {i}: word {i}." for i in range(N)}, samples)
    shared = (*data, *FEW, "language=en", "llm=openai", f"llm.base_url={server.url}", "llm.api_key_env=''", "top_k=2")
    return [(*shared, f"llm.model={model}", *more) for model in models]


def by_model(folder: Path, sweep_id: str = "a-sweep") -> dict[str, CellResult]:
    return {cell.config["llm"]["model"]: cell for cell in cells_in(folder, sweep_id)}


def n_asked(server: ChatServer) -> Counter[str]:
    return Counter(str(request["model"]) for request in server.requests)


class TestRace:
    def test_bad_cells_stop_early_and_are_reported(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE)) == 0
        found, asked = by_model(tmp_path), n_asked(server)
        assert {model: cell.status for model, cell in found.items()} == {
            "m90": OK, "m85": OK, "m30": STOPPED, "m05": STOPPED,
        }  # fmt: skip
        stopped = found["m05"].race
        assert asked["m05"] == stopped["n"] <= asked["m30"] == found["m30"].race["n"] < N
        assert asked["m90"] == asked["m85"] == N
        assert stopped["n_samples"] == N
        assert stopped["opponent"] in {found["m90"].cell_id, found["m85"].cell_id}
        truth = found["m90"].value("em") or 0
        assert 0 < stopped["behind"] < truth
        assert found["m05"].metrics == {}
        assert {cell["status"] for cell in sweep_in(tmp_path).cells} == {OK, STOPPED}
        assert sweep_in(tmp_path).status == OK
        shown = capsys.readouterr().out
        assert f"race: 4 cells by em over {N} samples" in shown
        assert f"race: 20 of {N} samples" in shown

    @pytest.mark.parametrize("executor", ["local", "processes"])
    def test_finishers_equal_those_of_a_sweep_without_a_race(
        self, tmp_path: Path, server: ChatServer, executor: str
    ) -> None:
        workers = (f"executor={executor}", f"run.workers={1 if executor == 'local' else 2}")
        run_small(tmp_path, *cells_of(tmp_path, server, *RACE, *workers))
        stopped, n_raced = load(tmp_path / "results" / "a-sweep").stopped, len(server.requests)
        assert run_small(tmp_path, *cells_of(tmp_path, server, *workers), sweep_id="rest") == 0
        n_saved = sum(cell.race["n_samples"] - cell.race["n"] for cell in stopped)
        assert len(server.requests) - n_raced == n_saved > 0
        assert len(server.requests) == N * len(MODELS)
        shutil.rmtree(tmp_path / "results" / "store")
        assert run_small(tmp_path, *cells_of(tmp_path, server, *workers), sweep_id="whole") == 0
        raced, whole = (metrics_text(tmp_path / "results" / name) for name in ("a-sweep", "whole"))
        finishers = raced.keys() - {cell.cell_id for cell in stopped}
        assert len(finishers) == 2
        for cell_id in finishers:
            assert raced[cell_id] == whole[cell_id]
            assert table_of(tmp_path, "a-sweep", cell_id) == table_of(tmp_path, "whole", cell_id)


def table_of(folder: Path, sweep_id: str, cell_id: str) -> pa.Table:
    """Returns the samples of a cell without the time that the server took."""
    return read_table(folder / "results" / sweep_id / cell_id / "samples.parquet").drop_columns(["latency_s"])
