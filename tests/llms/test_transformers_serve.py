"""An independent server answers a whole sweep like `llm=transformers`: `transformers serve`, with a tiny
model. Off unless asked for: `python -m pytest -n 0 -m server tests/llms`.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from pyarrow.parquet import read_table

from runner.results import CellResult
from tests.extras import skip_without
from tests.models.tiny import save_qwen2
from tests.runner.sweeping import FEW_METRICS, SWEEP_ID, cells_in, run_small, sweep_in

skip_without("transformers", "torch", "fastapi", "uvicorn")

pytestmark = pytest.mark.server

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The server looks in the text of a Qwen for where the assistant's part begins."""
N = 12
MAX_NEW_TOKENS = 6


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_qwen2(tmp_path_factory.mktemp("served") / "qwen2", chat_template=CHATML, max_tokens=8000)


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    """Address of the server, which answers at /health."""
    program, port = shutil.which("transformers"), free_port()
    assert program is not None
    command = [program, "serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    log = model.parent / "server.log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, stdout=written, stderr=written, env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        ) as server,
    ):
        try:
            while not is_healthy(f"http://127.0.0.1:{port}"):
                assert server.poll() is None, log.read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def is_healthy(url: str) -> bool:
    try:
        with urlopen(f"{url}/health", timeout=5) as reply:
            healthy: bool = reply.status == 200
    except (URLError, OSError):
        return False
    return healthy


def test_served_model_gives_the_same_sweep_as_the_library(model: Path, address: str, tmp_path: Path) -> None:
    served = ("llm=openai", f"llm.base_url={address}", "llm.api_key_env=''", "llm.concurrency=2")
    here = ("llm=transformers", "llm.revision=''", "llm.dtype=float32", "llm.device=cpu")
    both = (*FEW_METRICS, f"llm.model={model}", f"llm.max_new_tokens={MAX_NEW_TOKENS}")
    assert run_small(tmp_path, (*both, *served), (*both, *here)) == 0
    of_server, of_library = (rows_of(tmp_path, cell) for cell in cells_in(tmp_path))
    assert len(of_server) == N
    assert {row["state"] for row in of_server} <= {"ok", "truncated", "empty"}
    for row, same in zip(of_server, of_library, strict=True):
        names = ("id", "answer", "n_prompt_tokens", "n_completion_tokens")
        assert [row[name] for name in names] == [same[name] for name in names]
    assert run_small(tmp_path, (*both, *served), sweep_id="again") == 0
    assert sweep_in(tmp_path, "again").spent["n_requests"] == 0


def rows_of(folder: Path, cell: CellResult) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_table(
        folder / "results" / SWEEP_ID / cell.cell_id / "samples.parquet"
    ).to_pylist()
    return rows
