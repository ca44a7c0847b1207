"""A sweep whose model cannot be reached ends quickly, reports the reason, and resumes later."""

import time
from pathlib import Path

import pytest

from tests.llms.chat_server import Reply, chat_server
from tests.runner.sweeping import FEW_METRICS, cells_in, run_small

N = 12


def test_failing_server_is_not_asked_by_later_cells(tmp_path: Path) -> None:
    with chat_server(lambda *_: Reply(status=500)) as server:
        own = ("llm=openai", "llm.model=m", f"llm.base_url={server.url}", "llm.api_key_env=''", "llm.max_retries=0")
        cells = [(*FEW_METRICS, *own, "llm.concurrency=2", f"top_k={k}") for k in (1, 2)]
        assert run_small(tmp_path, *cells) == 1
        assert 10 <= len(server.requests) <= 12, "one cell finds it out"
        assert all(cell.counts == {"error": N} for cell in cells_in(tmp_path))
        server.script = lambda *_: Reply("ok")
        assert run_small(tmp_path, *cells, sweep_id="again") == 0
    assert all(cell.counts == {"ok": N} for cell in cells_in(tmp_path, "again"))


def test_missing_server_is_reported_within_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(lambda *_: Reply("")) as server:
        address = server.url.removesuffix("/v1")
    started = time.monotonic()
    assert run_small(tmp_path, (*FEW_METRICS, "llm=ollama", "llm.model=m", f"llm.base_url={address}")) == 1
    assert time.monotonic() - started < 10
    shown = capsys.readouterr()
    assert "no server listens there: start the server (`ollama serve`)" in shown.out + shown.err
    assert "may have been charged" not in shown.out + shown.err
