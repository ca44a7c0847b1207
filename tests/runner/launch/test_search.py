"""Sweeps that search a space, through the command line."""

import csv
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.__main__ import main
from runner.results import CellResult, LoadedSweep, load, read_sweep
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import (
    FEW_METRICS,
    QUIET,
    SMALL,
    end_group,
    own_data,
    run_command,
    start_command,
    sweeps,
    wait_until,
)

FREE = ("-m", *SMALL, *FEW_METRICS, *QUIET, "dataset.limit=6")
SPACE = ("chunk.size=interval(64,256)", "retriever=bm25,dense", "top_k=2,4,8")
N = 12
ASKING = ("search=tpe", "search.n_cells=12", "search.objectives=[em]")


def search(folder: Path, *overrides: str) -> LoadedSweep:
    """Runs a search in `folder` and returns its sweep."""
    ended = run_command(folder, *FREE, *overrides)
    assert ended.returncode == 0, ended.stderr
    return load(sweeps(folder)[-1])


def cells_in_order(sweep: LoadedSweep) -> list[CellResult]:
    return sorted(sweep.cells, key=lambda cell: cell.search["number"])


def reply(request: dict[str, object], _: int) -> Reply:
    """Answers right the more often, the larger the temperature is."""
    number = last_message(request).rpartition("number ")[2].split("?")[0]
    temperature = float(str(request["temperature"]))
    is_right = random.Random(f"{temperature} {number}").random() < temperature
    return Reply(f"word {number}" if is_right else "nothing of that kind")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(reply) as running:
        yield running


def asking(folder: Path, server: ChatServer, *more: str) -> tuple[str, ...]:
    """Returns the overrides of a search over the settings of a model."""
    samples = [{"id": f"s{i}", "question": f"What about number {i}?", "references": [f"word {i}"]} for i in range(N)]
    data = own_data(folder, {f"d{i}": f"About number {i}: word {i}." for i in range(N)}, samples)
    few = ("metrics.scores.trec.measures=[ndcg@10]", "~metrics.scores.bleu", "~metrics.scores.length")
    llm = ("language=en", "llm=openai", f"llm.base_url={server.url}", "llm.api_key_env=''", "llm.model=m")
    axes = ("llm.temperature=interval(0,1)", "top_k=1,2,3")
    return ("-m", *SMALL, *QUIET, *data, *few, *llm, *axes, *more)


class TestSearch:
    @pytest.mark.parametrize("strategy", ["random", "greedy", "tpe"])
    def test_search_runs_the_configured_number_of_cells_and_reports_it(self, tmp_path: Path, strategy: str) -> None:
        settings = (f"search={strategy}", "search.n_cells=7", "search.batch=3")
        ended = run_command(tmp_path, *FREE, *SPACE, *settings)
        assert ended.returncode == 0, ended.stderr
        assert f"7 of 1,158 cells, 3 at a time (search={strategy}, search.seed=0)" in ended.stdout
        assert "chunk.size  64 to 256 (193 values)" in ended.stdout
        assert "search: 7 of 7 cells, best " in ended.stdout
        mark = f"searched: 7 of 1,158 cells, strategy {strategy}, seed 0"
        assert mark in ended.stdout
        sweep = load(sweeps(tmp_path)[-1])
        assert len({cell.cell_id for cell in sweep.cells}) == 7
        assert [cell.search["number"] for cell in cells_in_order(sweep)] == [1, 2, 3, 4, 5, 6, 7]
        described = read_sweep(sweep.folder).search
        assert (described["n_tried"], described["n_space"], described["is_whole"]) == (7, 1158, False)
        assert sweep.left_out(7) == mark
        with (sweep.folder / "leaderboard.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert {row["search"] for row in rows} == {mark}
        assert {"chunk.size", "retriever", "top_k"} <= rows[0].keys(), "although each cell has its own size"

    def test_search_proposals_do_not_depend_on_the_number_of_workers(self, tmp_path: Path) -> None:
        settings = (*SPACE, "search=tpe", "search.n_cells=14")
        found = []
        for workers in (1, 2):
            folder = tmp_path / str(workers)
            folder.mkdir()
            found.append([cell.cell_id for cell in cells_in_order(search(folder, *settings, f"run.workers={workers}"))])
        assert found[0] == found[1]
        assert len(found[0]) == 14, "past TPE's first random draws"

    def test_search_runs_equal_cells_once(self, tmp_path: Path) -> None:
        sweep = search(tmp_path, "retriever=bm25,dense", "vector_index=flat,int8", "search=random", "search.n_cells=9")
        assert len(sweep.cells) == 3, "bm25 reads no vectors"
        assert read_sweep(sweep.folder).search["is_whole"]

    def test_small_search_space_is_tried_whole(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        ended = run_command(tmp_path, *FREE, "retriever=bm25,dense", "top_k=2,4", "search=greedy")
        assert "search=none runs all 4 cells" in ended.stdout
        (folder,) = sweeps(tmp_path)
        assert main(["effects", str(folder)]) == 0
        assert main(["compare", str(folder)]) == 0

    def test_invalid_combinations_are_left_out_of_a_search_and_counted(self, tmp_path: Path) -> None:
        ended = run_command(tmp_path, *FREE, "top_k=2,50", "retriever.depth=100,20", "search=random")
        assert ended.returncode == 0, ended.stderr
        (line,) = [line for line in ended.stdout.splitlines() if "1 proposal left out: " in line]
        assert "top_k" in line
        found = read_sweep(sweeps(tmp_path)[-1]).search
        assert (found["n_tried"], found["n_invalid"], found["n_space"]) == (3, 1, 4)

    def test_search_names_the_front_of_several_objectives(self, tmp_path: Path) -> None:
        objectives = "search.objectives=[passage_coverage,context_tokens]"
        ended = run_command(tmp_path, *FREE, *SPACE, "search=random", "search.n_cells=6", objectives)
        assert "of them on the front of passage_coverage and context_tokens" in ended.stdout
        (line,) = [line for line in ended.stdout.splitlines() if line.startswith("front: ")]
        assert "--metric passage_coverage --against context_tokens" in line
        assert main(line.partition("python -m analysis ")[2].replace("results/", f"{tmp_path}/results/").split()) == 0

    def test_search_plan_states_the_most_requests_and_runs_nothing(self, tmp_path: Path, server: ChatServer) -> None:
        ended = run_command(tmp_path, *asking(tmp_path, server, *ASKING, "run.plan_only=true"))
        assert "a search by em: 12 of 303 cells" in ended.stdout
        assert "at most 144 requests for answers" in ended.stdout.replace("\n", " ")
        assert not server.requests
        assert not sweeps(tmp_path)

    def test_killed_search_resumes_with_the_same_cells_without_repeats(
        self, tmp_path: Path, server: ChatServer
    ) -> None:
        (tmp_path / "whole").mkdir()
        (tmp_path / "killed").mkdir()
        ended = run_command(tmp_path / "whole", *asking(tmp_path / "whole", server, *ASKING))
        assert ended.returncode == 0, ended.stderr
        expected = [(cell.cell_id, cell.value("em")) for cell in cells_in_order(load(sweeps(tmp_path / "whole")[-1]))]
        n_needed = len(server.requests)
        assert n_needed == 12 * N
        server.requests.clear()
        folder = tmp_path / "killed"
        command = asking(folder, server, *ASKING)
        for moment in (30, 100):
            process = start_command(folder, *command)
            wait_until(lambda: len(server.requests) >= moment, process, timeout_s=120)  # noqa: B023
            end_group(process)
            process.communicate(timeout=60)
        ended = run_command(folder, *command)
        assert ended.returncode == 0, ended.stderr
        found = [(cell.cell_id, cell.value("em")) for cell in cells_in_order(load(sweeps(folder)[-1]))]
        assert found == expected
        counts = Counter(str(request) for request in server.requests)
        assert len(counts) == n_needed
        assert counts.total() <= n_needed + 2 * 16, "only requests on their way are repeated"

    def test_budget_ends_a_search_and_its_best_value_is_reported(self, tmp_path: Path, server: ChatServer) -> None:
        ended = run_command(tmp_path, *asking(tmp_path, server, *ASKING, "run.max_requests=60"))
        assert ended.returncode == 3
        assert "of 303 cells, strategy tpe, seed 0, best em " in ended.stdout
        sweep = read_sweep(sweeps(tmp_path)[-1])
        assert sweep.status == "INTERRUPTED"
        assert 0 < sweep.search["n_tried"] < 12

    def test_search_ranks_failed_cells_worst(self, tmp_path: Path, server: ChatServer) -> None:
        server.script = lambda request, n: (
            Reply(status=400) if float(str(request["temperature"])) > 0.5 else reply(request, n)
        )
        ended = run_command(tmp_path, *asking(tmp_path, server, *ASKING))
        assert ended.returncode == 1
        sweep = load(sweeps(tmp_path)[-1])
        assert len(sweep.cells) == 12
        assert read_sweep(sweep.folder).search["n_failed"] == len(sweep.failed) > 0
        assert f"{len(sweep.failed)} failed, best em " in ended.stdout


class TestRefused:
    @pytest.mark.parametrize(
        ("overrides", "why"),
        [
            (("top_k=interval(2,9)",), "or add search=random, greedy or tpe"),
            (("top_k=2", "search=tpe"), "search: no axis has several values"),
            (("top_k=2,4", "search=tpe", "race=betting"), "search: a race stops cells before all of their samples"),
            (("retriever=bm25,oracle", "search=random"), "search: retriever=oracle is an upper bound"),
            (("repeat=0,1", "search=random"), "search: repeat repeats the same settings"),
            (("dataset.limit=3,6", "search=random"), "search: scores over different data sets cannot be compared"),
            (("top_k=2,4", "search=random", "run.workers=1,2"), "run.*: differs between cells"),
            (("top_k=2,4", "search=random", "search.n_cells=0"), "search.n_cells: got 0"),
            (("top_k=2,4", "search=random", "search.objectives=[rouge]"), "search.objectives (or a kind of cost)"),
            (("top_k=2,4", "search=random", "search.objectives=[seconds]"), "expected a metric first"),
            (("top_k=2,4", "search=random", "search.objectives=[length]"), "got 'length', expected one of"),
            (("top_k=2,4", "search=random", "search.objectives=[ndcg@10,cost]"), "no cell calls a language model"),
            (
                ("top_k=2,4", "search=random", "search.objectives=[ndcg@10]", "run.headline=ndcg@10_strict"),
                "and run.headline=ndcg@10_strict differ",
            ),
            (("top_k=2,4", "search=random", "hydra.sweeper.one_at_a_time=true"), "hydra.sweeper.one_at_a_time chooses"),
            (("top_k=2,4", "search=random", "hydra.sweeper.max_batch_size=2"), "hydra.sweeper.max_batch_size chooses"),
            (("top_k=2,4", "search=random", "hydra/launcher=basic"), "search: one process must see all cells"),
        ],
    )
    def test_unsearchable_spaces_are_refused_with_the_reason(
        self, overrides: tuple[str, ...], why: str, tmp_path: Path
    ) -> None:
        ended = run_command(tmp_path, *FREE, *overrides)
        assert ended.returncode == 2
        assert why in " ".join(ended.stderr.split())
        assert not sweeps(tmp_path)

    def test_search_without_varying_axes_is_rejected(self, tmp_path: Path) -> None:
        ended = run_command(tmp_path, *FREE[1:], "search=random")
        assert ended.returncode == 2
        assert "search: got a single cell. Add -m" in ended.stderr


class TestReaders:
    def test_analyses_of_a_scored_search_are_marked_or_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sweep = search(tmp_path, "retriever=bm25,dense", "top_k=2,4,8", "search=greedy", "search.n_cells=5")
        folder, mark = str(sweep.folder), "searched: 5 of 6 cells, strategy greedy, seed 0"
        for command, why in {
            "effects": "means are not comparable",
            "plot --axis top_k": "means are not comparable",
            "compare": "A baseline that was chosen beforehand can be compared",
        }.items():
            name, *options = command.split()
            assert main([name, folder, *options]) == 2
            assert why in " ".join(capsys.readouterr().err.split())
        for options in (["candidates"], ["pareto", "--against", "context_tokens"]):
            assert main([options[0], folder, *options[1:]]) == 0
            assert mark in " ".join(capsys.readouterr().out.split())
        assert main(["compare", folder, "--baseline", sweep.cells[0].cell_id]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert mark in shown
        assert "Holm over 5 comparisons" in shown, "four cells that were tried, and one that could have been"
        baseline = str(tmp_path / "baseline.json")
        assert main(["baseline", folder, sweep.cells[0].cell_id, "--out", baseline]) == 0
        assert main(["gate", folder, sweep.cells[0].cell_id, "--baseline", baseline]) == 0
        assert f"{mark}; the mean of the best cell is optimistic" in " ".join(capsys.readouterr().out.split())
        assert main(["report", folder]) == 0
        text = (sweep.folder / "report.md").read_text(encoding="utf-8")
        assert mark in text
        assert "Effect of each axis" not in text

    def test_analyses_of_random_draws_are_marked_and_not_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sweep = search(tmp_path, "retriever=bm25,dense", "top_k=2,4,8", "search=random", "search.n_cells=5")
        for command in ("effects", "compare"):
            assert main([command, str(sweep.folder)]) == 0
            assert "searched: 5 of 6 cells, strategy random" in " ".join(capsys.readouterr().out.split())
