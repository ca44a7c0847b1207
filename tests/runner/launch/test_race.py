"""Sweeps with a race, against a server that counts requests. Models answer right with a probability in their name."""

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import read_table

from analysis.__main__ import main
from runner.results import FAILED, OK, STOPPED, CellResult, load, read_cells
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import (
    QUIET,
    SMALL,
    cells_in,
    end_group,
    metrics_text,
    own_data,
    run_command,
    run_small,
    start_command,
    sweep_in,
    sweeps,
    wait_until,
)

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


def cells_of(
    folder: Path,
    server: ChatServer,
    *more: str,
    models: tuple[str, ...] = MODELS,
    subsets: Sequence[str] = ("all",) * N,
) -> list[tuple[str, ...]]:
    """Returns the overrides of a cell per model."""
    samples = [
        {"id": f"s{i}", "question": f"What about number {i}?", "references": [f"word {i}"], "subset": subset}
        for i, subset in enumerate(subsets)
    ]
    data = own_data(folder, {f"d{i}": f"About number {i}: word {i}." for i in range(N)}, samples)
    shared = (*data, *FEW, "language=en", "llm=openai", f"llm.base_url={server.url}", "llm.api_key_env=''", "top_k=2")
    return [(*shared, f"llm.model={model}", *more) for model in models]


def cells_by_model(folder: Path, sweep_id: str = "a-sweep") -> dict[str, CellResult]:
    return {cell.config["llm"]["model"]: cell for cell in cells_in(folder, sweep_id)}


def has_received(server: ChatServer, n_requests: int) -> bool:
    return len(server.requests) >= n_requests


def n_asked(server: ChatServer) -> Counter[str]:
    return Counter(str(request["model"]) for request in server.requests)


class TestRace:
    def test_bad_race_cells_stop_early_and_are_reported(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE)) == 0
        found, asked = cells_by_model(tmp_path), n_asked(server)
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
        assert (sweep_in(tmp_path).status, sweep_in(tmp_path).headline) == (OK, "em"), "the race's metric ranks"
        shown = capsys.readouterr().out
        assert f"race: 4 cells by em over {N} samples" in shown
        assert f"race: 20 of {N} samples" in shown

    def test_upper_bound_does_not_race(self, tmp_path: Path, server: ChatServer) -> None:
        """Its cell would stop all others."""
        racing = cells_of(tmp_path, server, *RACE, models=("m30", "m05"))
        bound = cells_of(tmp_path, server, *RACE, "retriever=oracle", models=("m90",))
        assert run_small(tmp_path, *racing, *bound) == 0
        found = cells_by_model(tmp_path)
        assert {model: cell.status for model, cell in found.items()} == {"m30": OK, "m05": STOPPED, "m90": OK}

    @pytest.mark.parametrize("executor", ["local", "processes"])
    def test_race_finishers_equal_cells_of_a_sweep_without_a_race(
        self, tmp_path: Path, server: ChatServer, executor: str
    ) -> None:
        run = partial(run_as_command if executor == "processes" else run_here, tmp_path, server)
        raced_in = run(*RACE)
        stopped, n_raced = load(raced_in).stopped, len(server.requests)
        run()
        n_saved = sum(cell.race["n_samples"] - cell.race["n"] for cell in stopped)
        assert len(server.requests) - n_raced == n_saved > 0
        assert len(server.requests) == N * len(MODELS)
        shutil.rmtree(tmp_path / "results" / "store")
        whole_in = run()
        raced, whole = metrics_text(raced_in), metrics_text(whole_in)
        finishers = raced.keys() - {cell.cell_id for cell in stopped}
        assert len(finishers) == 2
        for cell_id in finishers:
            assert raced[cell_id] == whole[cell_id]
            assert table_of(raced_in, cell_id) == table_of(whole_in, cell_id)

    def test_killed_race_stops_the_same_cells_and_repeats_no_stored_request(
        self, tmp_path: Path, server: ChatServer
    ) -> None:
        (tmp_path / "whole").mkdir()
        (tmp_path / "killed").mkdir()
        assert run_small(tmp_path / "whole", *cells_of(tmp_path / "whole", server, *RACE)) == 0
        expected = {model: cell.race for model, cell in cells_by_model(tmp_path / "whole").items()}
        n_needed = len(server.requests)
        folder = tmp_path / "killed"
        (cell,) = cells_of(folder, server, *RACE, models=(",".join(MODELS),))
        command = ("-m", *SMALL, *QUIET, *cell)
        server.requests.clear()
        n_kills = 0
        for moment in range(20, n_needed, n_needed // 5):
            process = start_command(folder, *command)
            wait_until(partial(has_received, server, moment), process, timeout_s=300)
            end_group(process)
            process.communicate(timeout=60)
            n_kills += 1
        ended = run_command(folder, *command, timeout_s=600)
        assert ended.returncode == 0, ended.stderr
        found = {cell.config["llm"]["model"]: cell.race for cell in read_cells(sweeps(folder)[-1])}
        assert found == expected
        assert len({str(request) for request in server.requests}) == n_needed
        assert len(server.requests) <= n_needed + n_kills * 8, "only requests on their way are repeated"

    def test_result_readers_use_only_race_finishers(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_small(tmp_path, *cells_of(tmp_path, server, *RACE))
        shown = capsys.readouterr().out
        assert "m30" in shown.partition("Stopped by the race: 2 of 4 cells")[2]
        assert "FAILED" not in shown
        folder = tmp_path / "results" / "a-sweep"
        table = (folder / "leaderboard.csv").read_text(encoding="utf-8").splitlines()
        assert [line.split(",")[1] for line in table] == ["status", OK, OK, STOPPED, STOPPED]
        found = load(folder)
        assert {cell.config["llm"]["model"] for cell in found.rank_cells("em")} == {"m90", "m85"}
        assert {cell.config["llm"]["model"] for cell in found.stopped} == {"m30", "m05"}
        assert found.left_out(2) == "2 of 4 cells were stopped by the race, and are not included"
        for command in (["compare", str(folder)], ["effects", str(folder), "--metric", "em"], ["pareto", str(folder)]):
            assert main(command) == 0
            assert "stopped by the race" in capsys.readouterr().out.replace("\n", " "), command
        assert main(["report", str(folder)]) == 0
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "Stopped cells" in page
        assert "stopped by the race after" in page
        assert "Cells that failed" not in page

    def test_budget_ending_a_race_reports_how_far_cells_are_behind(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE, "run.max_requests=90")) == 3
        assert " is live after 20 samples, at least 0." in capsys.readouterr().out
        assert sweep_in(tmp_path).status == "INTERRUPTED"

    def test_failed_cell_leaves_the_race_and_is_reported(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.script = lambda request, n: Reply(status=404) if request["model"] == "m95" else reply(request, n)
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE, models=("m95", "m90", "m05"))) == 1
        found = cells_by_model(tmp_path)
        assert {model: cell.status for model, cell in found.items()} == {"m95": FAILED, "m90": OK, "m05": STOPPED}


class TestTargets:
    """Races for every subset."""

    targets = (*RACE, "race.targets=[overall,subsets]")

    def test_race_lets_the_winner_of_a_subset_finish(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """m05 answers only the questions of the subset."""
        n_rare = 20

        def specialist(request: dict[str, object], n: int) -> Reply:
            number = last_message(request).rpartition("number ")[2].split("?")[0]
            is_rare = int(number) < n_rare
            return Reply(f"word {number}" if is_rare else "") if request["model"] == "m05" else reply(request, n)

        server.script = specialist
        subsets = ["rare" if number < n_rare else "common" for number in range(N)]
        assert run_small(tmp_path, *cells_of(tmp_path, server, *self.targets, subsets=subsets)) == 0
        shown = joined(capsys)
        assert "it does not stop the winner of the full run for each target" in shown
        assert "race: a cell answers at least about 9" in shown
        assert "a cell stops only when it can win none of 3 targets, the smallest with 20 samples (rare)" in shown
        found = cells_by_model(tmp_path)
        assert {model: cell.status for model, cell in found.items()} == {
            "m90": OK, "m85": OK, "m30": STOPPED, "m05": OK,
        }  # fmt: skip
        assert found["m30"].race["n_targets"] == 3
        values = {model: cell.value("em", "rare") or 0.0 for model, cell in found.items()}
        assert max(values, key=values.__getitem__) == "m05"

    def test_race_without_subsets_has_one_target(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, *cells_of(tmp_path, server, *self.targets, "run.plan_only=true")) == 0
        assert "targets" not in joined(capsys)


class TestCosts:
    """Races in which cells stop only behind cells that cost no more."""

    against = (*RACE, "race.against=cost")

    def test_cost_race_stops_a_dear_bad_cell_and_not_a_cheap_one(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        prices = {"m90": 2.0, "m85": 1.0, "m30": 1.0, "m05": 0.1}
        assert run_small(tmp_path, *cells_of(tmp_path, server, *self.against, price_list(prices))) == 0
        shown = joined(capsys)
        assert "it does not stop any cell of the full run's front" in shown
        assert "race: cells stop behind cells that cost no more: 3 different costs from " in shown
        found = cells_by_model(tmp_path)
        assert {model: cell.status for model, cell in found.items()} == {
            "m90": OK, "m85": OK, "m30": STOPPED, "m05": OK,
        }  # fmt: skip
        assert found["m30"].race["against"] == "cost"
        assert found["m30"].race["opponent"] == found["m85"].cell_id

    def test_cost_race_refuses_a_model_without_a_price(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        prices = price_list(dict.fromkeys(MODELS[1:], 1.0))
        assert run_small(tmp_path, *cells_of(tmp_path, server, *self.against, prices)) == 2
        assert "race.against=cost: the price of m90 at 127.0.0.1" in " ".join(capsys.readouterr().err.split())
        assert not server.requests


class TestForecast:
    """The plan's lines about the answers that a race would save."""

    def test_race_plan_estimates_savings_from_an_earlier_sweep(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        others = tuple(f"{model}x" for model in MODELS)
        assert run_small(tmp_path, *cells_of(tmp_path, server, models=others), sweep_id="earlier") == 0
        server.requests.clear()
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE)) == 0
        shown = joined(capsys)
        found = re.search(r"race: about (\d+)% of the answers would be saved, as in races over \S+ (.*?\))", shown)
        assert found
        assert found[2] == "(4 cells, 0 of them planned here; your cells may save more or less)"
        saved = 1 - len(server.requests) / (N * len(MODELS))
        assert int(found[1]) / 100 == pytest.approx(saved, abs=0.1)

    def test_race_plan_saves_less_with_subset_targets_and_costs(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        subsets = ["rare" if number < 20 else "common" for number in range(N)]
        prices = price_list({"m90": 3.0, "m85": 2.0, "m30": 1.0, "m05": 0.1})
        modes: tuple[tuple[str, ...], ...] = ((), ("race.targets=[overall,subsets]",), ("race.against=cost",))
        assert run_small(tmp_path, *cells_of(tmp_path, server, prices, subsets=subsets), sweep_id="earlier") == 0
        saved = []
        for mode in modes:
            cells = cells_of(tmp_path, server, *RACE, *mode, prices, "run.plan_only=true", subsets=subsets)
            capsys.readouterr()
            assert run_small(tmp_path, *cells) == 0
            saved.append(int(joined(capsys).partition("% of the answers would be saved")[0].rpartition(" ")[2]))
        assert saved[0] > saved[1] > 0
        assert saved[2] == 0, "quality rises with cost"

    def test_race_plan_advises_against_small_savings(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        models = ("m90", "m88", "m87", "m86")
        assert run_small(tmp_path, *cells_of(tmp_path, server, models=models), sweep_id="earlier") == 0
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE, "run.plan_only=true", models=models)) == 0
        assert re.search(
            r"about \d% of the answers would be saved, .* \(4 cells\): use race=none, or a larger race.margin",
            joined(capsys),
        )

    def test_race_plan_without_an_earlier_sweep_shows_a_range(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE, "run.plan_only=true")) == 0
        shown = joined(capsys)
        assert "a cell answers about 96% if it ends 0.02 behind, 81% if it ends 0.05 behind, 51% if it ends" in shown
        assert "about 4% of the answers would be saved among cells that differ by 0.02: use race=none" in shown

    def test_raced_sweep_is_not_used_as_a_forecast(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The finishing cells are nearly equal."""
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE), sweep_id="earlier") == 0
        assert run_small(tmp_path, *cells_of(tmp_path, server, *RACE, "run.plan_only=true")) == 0
        assert "as in races over" not in joined(capsys)


class TestRefused:
    """Errors before the first request."""

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            (("race.metric=ndcg@10",), "ndcg@10 is not an answer metric"),
            (("race.metric=em", "run.headline=f1"), "race.metric=em and run.headline=f1 differ"),
            (("race.metric=bleu",), "bleu is not a mean over samples"),
            (("race.metric=length",), "length cannot rank cells"),
            (("race.metric=rouge",), "race.metric: got 'rouge'; did you mean"),
            (("race.alpha=1.5",), "alpha: got 1.5, expected an error rate"),
            (("race.margin=1",), "margin: got 1.0, expected a difference"),
            (("race.targets=[subsets]",), "targets: got [subsets], expected [overall] or [overall, subsets]"),
            (("race.against=price",), "against"),
        ],
    )
    def test_invalid_race_setting_is_refused_with_the_reason(
        self, more: tuple[str, ...], why: str, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cells = cells_of(tmp_path, server, "race=betting", *more)
        with_all = [[each for each in cell if not each.startswith("~")] for cell in cells]
        assert run_small(tmp_path, *with_all) == 2
        assert why in capsys.readouterr().err
        assert not server.requests

    def test_judged_race_metric_is_refused(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        judge = ("judge=faithfulness", "judge.llm.model=a-judge", f"judge.llm.base_url={server.url}")
        race = ("race=betting", "race.metric=faithfulness", "judge.llm.api_key_env=''")
        assert run_small(tmp_path, *cells_of(tmp_path, server, *judge, *race)) == 2
        refused = " ".join(capsys.readouterr().err.split())
        assert "is graded by a judge, which leaves out answers whose grade cannot be read" in refused
        assert not server.requests

    def test_race_with_repeat_draws_is_rejected(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (cell,) = cells_of(tmp_path, server, *RACE, models=("m90",))
        assert run_small(tmp_path, (*cell, "repeat=0"), (*cell, "repeat=1")) == 2
        assert "race: the leaderboard averages the draws of repeat" in capsys.readouterr().err

    def test_race_without_a_language_model_runs_to_its_end(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, ("race=betting", "top_k=1"), ("race=betting", "top_k=3")) == 0
        assert "race: no cell calls a language model, so a race saves nothing" in capsys.readouterr().out
        assert {cell.status for cell in cells_in(tmp_path)} == {OK}

    def test_unknown_race_metric_is_refused_without_a_language_model(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, ("race=betting", "race.metric=rouge", "top_k=1")) == 2
        assert "race.metric: got 'rouge'; did you mean" in capsys.readouterr().err


def price_list(prompts: Mapping[str, float]) -> str:
    """Returns the override for a list of prices of models on any server."""
    models = ",".join(f"{model}:{{prompt:{price},completion:{price}}}" for model, price in prompts.items())
    return f'+prices.lists.own={{as_of:"2026-11-22",source:a bill,models:{{{models}}}}}'


def joined(capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the output without the line breaks of the terminal."""
    return " ".join(capsys.readouterr().out.split())


def run_here(folder: Path, server: ChatServer, *more: str) -> Path:
    """Runs the sweep in this process; returns its folder."""
    path = folder / "results" / f"sweep-{len(sweeps(folder))}"
    workers = ("executor=local", "run.workers=1")
    assert run_small(folder, *cells_of(folder, server, *more, *workers), sweep_id=path.name) == 0
    return path


def run_as_command(folder: Path, server: ChatServer, *more: str) -> Path:
    """Runs the sweep with two worker processes; returns its folder. Every round of a race starts its own: a command
    can fork them, whereas this process has the threads of the server and would load everything in each.
    """
    (cell,) = cells_of(folder, server, *more, "executor=processes", "run.workers=2", models=(",".join(MODELS),))
    before = set(sweeps(folder))
    ended = run_command(folder, "-m", *SMALL, *QUIET, *cell)
    assert ended.returncode == 0, ended.stderr
    (path,) = set(sweeps(folder)) - before
    return path


def table_of(sweep_dir: Path, cell_id: str) -> pa.Table:
    """Returns the samples of a cell without the time that the server took."""
    return read_table(sweep_dir / cell_id / "samples.parquet").drop_columns(["latency_s"])
