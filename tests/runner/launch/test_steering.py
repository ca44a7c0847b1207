"""Sweeps that a user steers while they run, against a server whose replies trigger the requests."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pytest

from analysis.__main__ import main as analyse
from runner.control import main
from runner.engine.spending.ledger import Budget
from runner.launch.steering import SweepSteering
from runner.results import FAILED, OK, STOPPED, CellResult, load
from runner.results.live_sweep import PROGRESS, STEERING
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.runner.sweeping import (
    FEW_METRICS,
    SWEEP_ID,
    cells_in,
    end_group,
    metrics_text,
    only_sweep,
    run_small,
    start_command,
    sweep_in,
    wait_until,
)

FOUR = ("2", "3", "4", "5")
METRICS = [word for word in FEW_METRICS if word != "~metrics.scores.em"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, _: Reply(str(request["messages"])[-40:-20])) as running:
        yield running


def cells_of(server: ChatServer, *more: str) -> list[tuple[str, ...]]:
    """Return the overrides of four cells that share no requests."""
    llm = ("llm=openai", f"llm.base_url={server.url}", "llm.api_key_env=''", "llm.concurrency=1")
    return [(*METRICS, *llm, "llm.model=m", f"top_k={top_k}", *more) for top_k in FOUR]


def at_request(server: ChatServer, number: int, action: Callable[[], object]) -> None:
    """Act once the server has received that many requests, before it replies."""
    before = server.script

    def reply(request: dict[str, object], attempt: int) -> Reply:
        if len(server.requests) == number:
            action()
        return before(request, attempt)

    server.script = reply


def cells_by_top_k(folder: Path) -> dict[str, CellResult]:
    return {str(cell.axes["top_k"]): cell for cell in cells_in(folder)}


@pytest.mark.parametrize("is_deleted", [True, False])
def test_steering_requests_after_an_emptied_file_are_read(is_deleted: bool, tmp_path: Path) -> None:
    steering = SweepSteering(tmp_path, tmp_path / "ledger", Budget(), "USD", lambda line: None, lambda: None)
    steering.begin([])
    requests = tmp_path / STEERING
    requests.write_text('{"action": "pause"}\n', encoding="utf-8")
    steering.look()
    assert steering.is_paused
    if is_deleted:
        requests.unlink()
        steering.look()
    else:
        requests.write_text("", encoding="utf-8")
        steering.look()
    requests.write_text('{"action": "resume"}\n', encoding="utf-8")
    steering.look()
    assert not steering.is_paused
    steering.end()


class TestPause:
    @pytest.mark.parametrize("n_workers", [1, 2])
    def test_paused_sweep_has_the_results_of_an_unpaused_one(
        self, n_workers: int, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plain, paused = tmp_path / "plain", tmp_path / "paused"
        workers = f"run.workers={n_workers}"
        assert run_small(plain, *cells_of(server, f"run.store_dir={plain / 'store'}")) == 0
        n_requests = len(server.requests)
        sweep, seen = str(paused / "results" / SWEEP_ID), []

        def resume() -> None:
            seen.append((len(server.requests), json.loads((Path(sweep) / PROGRESS).read_text(encoding="utf-8"))))
            main([sweep, "resume"])

        def pause() -> None:
            main([sweep, "pause"])
            Timer(2.0, resume).start()

        at_request(server, n_requests + 3, pause)
        assert run_small(paused, *cells_of(server, f"run.store_dir={paused / 'store'}", workers)) == 0
        ((n_before, progress),) = seen
        assert n_requests < n_before < 2 * n_requests, "the other cells were not asked during the pause"
        assert progress["is_paused"]
        assert progress["running"] == []
        assert metrics_text(plain / "results" / SWEEP_ID) == metrics_text(paused / "results" / SWEEP_ID)
        assert len(server.requests) == 2 * n_requests
        assert [each["action"] for each in sweep_in(paused).steered] == ["pause", "resume"]
        assert not (Path(sweep) / PROGRESS).exists()
        assert "paused by the user" in capsys.readouterr().out


class TestStop:
    def test_stopped_cell_is_listed_separately_and_runs_on_the_next_command(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = tmp_path / "results" / SWEEP_ID
        at_request(server, 3, lambda: main([str(folder), "stop", "top_k=4"]))
        assert run_small(tmp_path, *cells_of(server)) == 0
        shown, cells = capsys.readouterr().out, cells_by_top_k(tmp_path)
        assert {top_k: cell.status for top_k, cell in cells.items()} == {"2": OK, "3": OK, "4": STOPPED, "5": OK}
        assert cells["4"].reason == "stopped by the user"
        assert cells["4"].metrics == {}
        assert "Stopped by the user: 1 of 4 cells, which have no rank: top_k=4" in shown
        assert "FAILED" not in shown
        n_asked = len(server.requests)
        assert n_asked == 36
        (request,) = sweep_in(tmp_path).steered
        assert (request["action"], request["cell_id"]) == ("stop", cells["4"].cell_id)
        found = load(folder)
        assert found.left_out(3) == "1 of 4 cells were stopped by the user, and are not included"
        assert analyse(["compare", str(folder)]) == 0
        assert "stopped by the user, not compared" in capsys.readouterr().out.replace("\n", " ")
        assert analyse(["report", str(folder)]) == 0
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "top_k=4</bdi>: <bdi>stopped by the user" in page
        assert "The user stopped cells" in page
        assert run_small(tmp_path, *cells_of(server)) == 0
        assert {cell.status for cell in cells_in(tmp_path)} == {OK}
        assert len(server.requests) == n_asked + 12
        assert sweep_in(tmp_path).steered == ()

    def test_sweep_with_all_cells_stopped_ends_successfully(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def stop_all() -> None:
            for top_k in FOUR:
                main([str(tmp_path / "results" / SWEEP_ID), "stop", f"top_k={top_k}"])

        at_request(server, 1, stop_all)
        assert run_small(tmp_path, *cells_of(server)) == 0
        assert {cell.status for cell in cells_in(tmp_path)} == {STOPPED}
        captured = capsys.readouterr()
        assert "Stopped by the user: 4 of 4 cells" in captured.out
        assert "could not be displayed" not in captured.err

    def test_cell_stopped_during_a_race_is_not_asked_further(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = tmp_path / "results" / SWEEP_ID
        at_request(server, 3, lambda: main([str(folder), "stop", "top_k=5"]))
        race = ("race=betting", "race.metric=em", "race.first_look=4")
        assert run_small(tmp_path, *cells_of(server, *race)) == 0
        cells = cells_by_top_k(tmp_path)
        assert (cells["5"].status, cells["5"].reason) == (STOPPED, "stopped by the user")
        assert FAILED not in {cell.status for cell in cells.values()}
        shown = capsys.readouterr().out
        assert (
            "race: 4 of 12 samples, 3 of 4 cells live" in shown or "race: 4 of 12 samples, 4 of 4 cells live" in shown
        )
        assert "It won the race" not in shown
        assert len(server.requests) <= 40, "the cell was asked in the first round only"


class TestRefusals:
    def test_steering_an_unknown_or_ended_sweep_is_one_error(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_small(tmp_path, *cells_of(server)[:1])
        folder = tmp_path / "results" / SWEEP_ID
        capsys.readouterr()
        assert main([str(folder), "pause"]) == 2
        assert "this sweep has ended (OK); only a running sweep" in capsys.readouterr().err
        assert main([str(tmp_path / "nowhere"), "pause"]) == 2
        assert "no sweep here" in capsys.readouterr().err
        assert not (folder / STEERING).exists()

    def test_steering_unknown_or_ended_cells_is_one_error(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder, codes = str(tmp_path / "results" / SWEEP_ID), list[int]()
        commands = (["stop", "top_k=9"], ["stop", "top_k=2"], ["stop"], ["pause", "top_k=3"])

        def ask() -> None:
            codes.extend(main([folder, *command]) for command in commands)

        at_request(server, 25, ask)
        assert run_small(tmp_path, *cells_of(server)) == 0
        assert codes == [2, 2, 2, 2]
        errors = capsys.readouterr().err
        assert "top_k=9: no cell matches, expected one of:" in errors
        assert "has already ended" in errors
        assert "stop: got no cell, expected the cell to stop" in errors
        assert "pause: got top_k=3, expected no cell" in errors
        assert sweep_in(tmp_path).steered == ()

    def test_steering_distinguishes_a_killed_from_a_running_sweep(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.script = lambda request, attempt: Reply("slow", delay_s=0.5)
        arguments = [*cells_of(server)[0], "top_k=2,3", "dataset.limit=12", "retriever=bm25", "embedder=hashing"]
        process = start_command(tmp_path, "-m", *arguments, "tracking=none")
        wait_until(lambda: bool(server.requests) and any(tmp_path.glob("results/*/progress.json")), process)
        folder = str(only_sweep(tmp_path))
        assert analyse(["watch", folder, "--once"]) == 0
        assert "running" in capsys.readouterr().out.splitlines()[0]
        end_group(process)
        process.communicate(timeout=30)
        assert analyse(["watch", folder, "--once"]) == 0
        assert "killed: its process has ended" in capsys.readouterr().out.splitlines()[0]
        assert main([folder, "resume"]) == 2
        assert "this sweep was killed" in capsys.readouterr().err
