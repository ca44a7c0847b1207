"""The state of a sweep while it runs, in the terminal and on a page."""

import http.client
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.watch.sweep_watcher import Watcher
from analysis.watch.watch_page import make_server, render
from components.errors import DataError
from components.openai_server.limiter import Tokens
from runner.engine.spending import Budget
from runner.engine.spending.ledger import Ledger
from runner.engine.store.writers import Writers
from runner.results import RUNNING, read_sweep, write_sweep
from runner.results.live_sweep import HEARTBEATS, Progress, write_progress
from tests.analysis import tiny_sweep

LAST = "b4b4b4b4b4b4"
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """The tiny sweep while its last cell runs, in this process."""
    folder = tiny_sweep.write(tmp_path / "tiny")
    tiny_sweep.unfinish(folder, LAST)
    write_sweep(folder, replace(read_sweep(folder), status=RUNNING, started="2026-01-02T03:04:05+00:00"))
    writers = Writers(folder / HEARTBEATS)
    report(folder, process=writers.own_name)
    ledger = Ledger(folder / ".spent-1", Budget())
    ledger.begin()
    ledger.admit(Tokens(100, 100), None, 1.0)
    ledger.settle(Tokens(100, 100), Tokens(70, 30), None)
    yield folder
    assert writers.own_name


def report(folder: Path, **changes: Any) -> None:
    progress = Progress(
        process="", ledger=".spent-1", currency="USD", budget={"run.max_requests": 500}, written=time.time(),
        n_stages=40, n_stages_done=30, n_cells_running=1, running=({"title": "answers", "n": 1, "n_cells": 1},),
        left_s=250.0, is_paused=False, note="race: 30 of 120 samples",
    )  # fmt: skip
    write_progress(folder, replace(progress, **changes))


def figures(folder: Path) -> Mapping[str, tuple[str, str]]:
    return {each.head: (each.value, each.note) for each in Watcher(folder).look().figures}


class TestState:
    def test_watch_shows_cells_time_and_spending_of_a_running_sweep(self, running: Path) -> None:
        found = figures(running)
        assert found["Cells done"] == ("3 of 4", "1 running")
        assert found["Time left"] == ("about 4 min", "at the pace of the 30 of 40 stages so far")
        assert found["Spent"][0] == "1 request"
        assert found["Spent"][1].startswith("1 of at most 500 requests, 100 tokens")
        watched = Watcher(running).look()
        assert (watched.state, watched.is_running) == ("running", True)
        assert watched.lines == ("Running: answers (1 stage, for 1 cell)", "race: 30 of 120 samples")

    def test_watch_lists_finished_cells_best_first(self, running: Path) -> None:
        table = Watcher(running).look().table
        assert table is not None
        assert [row.cell_ids[0][:2] for row in table.rows] == ["b3", "a2", "a1"]
        assert [row.n for row in table.rows] == [8, 8, 8]

    def test_watch_names_the_axes_before_a_cell_has_finished(self, running: Path) -> None:
        for cell in read_sweep(running).cells:
            (running / cell["cell_id"] / "cell.json").unlink(missing_ok=True)
        watched = Watcher(running).look()
        assert watched.table is None
        assert watched.axes == ("retriever", "top_k")

    def test_watch_reports_unknown_time_left_as_unknown(self, running: Path) -> None:
        report(running, process=Writers(running / HEARTBEATS).own_name, left_s=None)
        assert figures(running)["Time left"][0] == "not known yet"

    def test_watch_reports_a_paused_sweep_as_paused(self, running: Path) -> None:
        report(running, process=Writers(running / HEARTBEATS).own_name, is_paused=True, running=())
        assert Watcher(running).look().state == "paused"

    def test_watch_reports_a_sweep_without_its_process_as_killed(self, running: Path) -> None:
        report(running, process="host-1-gone")
        watched = Watcher(running).look()
        assert watched.state.startswith("killed")
        assert not watched.is_running

    def test_watch_reports_a_finished_sweep_without_a_progress_file(self, sweep: Path) -> None:
        watched = Watcher(sweep).look()
        assert watched.state == "finished"
        assert watched.figures[0].value == "4 of 4"

    @pytest.mark.parametrize("changes", [{"process": "../x"}, {"ledger": "/etc/x"}, {"running": ({"title": 1},)}])
    def test_watch_rejects_a_progress_file_that_no_sweep_wrote(self, running: Path, changes: dict[str, Any]) -> None:
        report(running, **changes)
        with pytest.raises(DataError, match="not the progress of a sweep"):
            Watcher(running).look()


class TestTerminal:
    def test_watch_with_once_prints_the_state_and_exits(
        self, running: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["watch", str(running), "--once"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("tiny running\n")
        assert "Only finished cells are shown" in shown
        assert "b3b3b3b3b3b3" in shown

    def test_watch_appends_lines_to_a_log_until_the_sweep_ends(
        self, running: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def end(_: float) -> None:
            write_sweep(running, replace(read_sweep(running), status="OK"))

        monkeypatch.setattr("analysis.watch.watch_terminal.time.sleep", end)
        assert main(["watch", str(running)]) == 0
        first, *others = capsys.readouterr().out.splitlines()
        assert first.startswith("running; cells done 3 of 4; elapsed ")
        assert others[0] == "tiny finished"


@pytest.fixture
def server(running: Path) -> Iterator[ThreadingHTTPServer]:
    with make_server(Watcher(running), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: ThreadingHTTPServer, method: str = "GET", path: str = "/", host: str = "") -> tuple[int, str]:
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
    reply = connection.getresponse()
    return reply.status, reply.read().decode()


class TestPage:
    def test_watch_server_listens_only_on_loopback(self, server: ThreadingHTTPServer) -> None:
        assert server.server_address[0] == "127.0.0.1"
        status, page = ask(server)
        assert status == 200
        assert "3 of 4" in page
        assert ask(server, host=f"localhost:{server.server_address[1]}")[0] == 200

    @pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1"])
    def test_watch_server_rejects_other_host_names(self, server: ThreadingHTTPServer, host: str) -> None:
        status, page = ask(server, host=host)
        assert status == 421
        assert "tiny" not in page

    def test_watch_server_serves_only_get_requests_for_the_page(self, server: ThreadingHTTPServer) -> None:
        assert ask(server, path="/../sweep.json")[0] == 404
        assert {ask(server, method)[0] for method in ("POST", "PUT", "DELETE", "HEAD")} == {501}

    def test_watch_page_is_self_contained_and_reloads_during_the_sweep(self, running: Path, sweep: Path) -> None:
        page = render(Watcher(running).look())
        assert '<meta http-equiv="refresh"' in page
        assert "<script" not in page
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page
        assert '<meta http-equiv="refresh"' not in render(Watcher(sweep).look())

    def test_watch_page_escapes_texts_of_a_sweep(self, running: Path) -> None:
        report(running, process=Writers(running / HEARTBEATS).own_name, note=EVIL)
        described = read_sweep(running)
        cells = [{**cell, "axes": {"retriever": f"{EVIL}{place}"}} for place, cell in enumerate(described.cells)]
        steered = ({"at": "", "action": EVIL},)
        write_sweep(running, replace(described, cells=tuple(cells), steered=steered))
        page = render(Watcher(running).look())
        assert EVIL not in page
        assert page.count("&lt;script&gt;") >= 2

    def test_watch_server_reports_a_port_in_use(self, running: Path, server: ThreadingHTTPServer) -> None:
        port = server.server_address[1]
        with pytest.raises(DataError, match=f"--serve {port}: cannot listen"):
            make_server(Watcher(running), port)
        with pytest.raises(DataError, match="cannot listen"):
            make_server(Watcher(running), 99_999)
