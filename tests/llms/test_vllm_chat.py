"""A managed server, with a small program in the place of vLLM."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from components.errors import ComponentError
from components.llms.vllm_chat import VllmChat
from components.openai_server import managed_servers
from runner.engine.identity import describe
from tests.contracts.llm_contract import LLMContract, request

FAKE = Path(__file__).with_name("fake_vllm.py")
REPOSITORY = FAKE.parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the program, a model and an adapter; programs started there end with the tests."""
    root = tmp_path_factory.mktemp("vllm")
    program = root / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)
    for name in ("model", "dies", "hangs", "quits"):
        (root / name).mkdir()
        (root / name / "model.safetensors").write_bytes(b"weights")
    (root / "lora").mkdir()
    (root / "lora" / "adapter_config.json").write_text("{}")
    yield root
    for folder in [folder for folder in managed_servers._held if root in folder.parents]:
        managed_servers._held.pop(folder).close()
    wait_until(lambda: not servers(root))


def chat(place: Path, model: str = "model", **fields: Any) -> VllmChat:
    settings = {"command": str(place / "vllm"), "log_dir": str(place / "logs"), "max_retries": 0, **fields}
    return VllmChat(str(place / model), "", **settings)


def answer_text(llm: VllmChat) -> str:
    (answer,) = llm.generate([request("q")])
    assert answer.text, answer.error
    return answer.text


def servers(place: Path) -> list[int]:
    """Ids of the processes that were started for this folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode().split("\0")
        except OSError:
            continue  # the process has just ended
        if str(FAKE) in words and any(word.startswith(f"{place}{os.sep}") for word in words):
            found.append(int(file.parent.name))
    return found


def wait_until(holds: Callable[[], bool], timeout_s: float = 20) -> None:
    limit = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < limit, "it never came"
        time.sleep(0.05)


class TestContract(LLMContract):
    component = VllmChat("owner/model", "a" * 40)

    @pytest.fixture(autouse=True)
    def fake(self, place: Path) -> None:
        self.component = chat(place)


def test_vllm_users_share_one_server_process(place: Path) -> None:
    first, second = answer_text(chat(place)), answer_text(chat(place, temperature=0.7))
    assert first == second
    assert len(servers(place)) == 1
    assert first.split()[:3] == [str(place / "model"), "serve", str(place / "model")]
    assert "loading model" in next((place / "logs").rglob("server.log")).read_text()


def test_released_vllm_server_stops_and_a_new_one_starts(place: Path) -> None:
    answer_text(chat(place))
    assert servers(place)
    managed_servers.release_servers()
    assert not servers(place)
    answer_text(chat(place))


def test_vllm_server_receives_adapter_and_arguments(place: Path) -> None:
    text = answer_text(
        chat(place, adapter=str(place / "lora"), arguments="--dtype half", runtime_arguments="--swap-space 1")
    )
    assert text.startswith("adapter serve")
    assert f"--enable-lora --lora-modules adapter={place / 'lora'} --dtype half --swap-space 1" in text


def test_error_of_a_dead_vllm_server_quotes_its_log(place: Path) -> None:
    with pytest.raises(ComponentError, match=r"ended before it was healthy.*loading dies \| CUDA out of memory"):
        answer_text(chat(place, "dies"))


def test_error_of_a_vanished_vllm_server_names_its_log(place: Path) -> None:
    (answer,) = chat(place, "quits").generate([request("q")])
    assert "no server listens there: the server that the sweep started has ended; see " in answer.error
    assert "base_url" not in answer.error
    log = Path(answer.error.split("has ended; see ")[1])
    assert "loading quits" in log.read_text()


def test_vllm_server_that_is_never_healthy_is_stopped(place: Path) -> None:
    with pytest.raises(ComponentError, match=r"not healthy within start_timeout_s=2, expected .*loading hangs"):
        answer_text(chat(place, "hangs", start_timeout_s=2.0))
    wait_until(lambda: not [pid for pid in servers(place) if b"hangs" in Path(f"/proc/{pid}/cmdline").read_bytes()])


def test_killed_user_leaves_no_vllm_server_behind(place: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    program = f"""
import time
from pathlib import Path
from tests.llms.test_vllm_chat import answer_text, chat
from dataclasses import replace
answer_text(replace(chat(Path({str(place)!r}), log_dir={str(tmp_path / "logs")!r}), model={str(tmp_path / "model")!r}))
print("answered", flush=True)
time.sleep(60)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as user:
        try:
            assert user.stdout is not None
            assert user.stdout.readline() == b"answered\n"
            assert len(servers(tmp_path)) == 1
        finally:
            user.send_signal(signal.SIGKILL)
    wait_until(lambda: not servers(tmp_path))


def test_vllm_server_of_a_killed_starter_stops_despite_waiting_processes(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    program = f"""
from pathlib import Path
from components.openai_server import managed_servers
command = [{str(place / "vllm")!r}, "serve", {str(tmp_path / "hangs")!r}, "--port"]
managed_servers.ensure_server(lambda port: [*command, str(port)], Path({str(folder)!r}), 60)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as starter:
        try:
            wait_until(lambda: bool(servers(tmp_path)))
            managed_servers._hold(folder)
        finally:
            starter.send_signal(signal.SIGKILL)
    try:
        wait_until(lambda: not servers(tmp_path))
    finally:
        managed_servers._held.pop(folder).close()


def test_interrupted_start_leaves_no_vllm_server_behind(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(address: str) -> bool:
        wait_until(lambda: bool(servers(tmp_path)))
        raise KeyboardInterrupt(address)

    monkeypatch.setattr(managed_servers, "_is_healthy", interrupted)
    folder, command = tmp_path / "server", [str(place / "vllm"), "serve", str(tmp_path / "hangs"), "--port"]
    try:
        with pytest.raises(KeyboardInterrupt):
            managed_servers.ensure_server(lambda port: [*command, str(port)], folder, 60)
        wait_until(lambda: not servers(tmp_path))
    finally:
        managed_servers._held.pop(folder).close()


def test_vllm_identity_excludes_runtime_fields(place: Path) -> None:
    llm = chat(place)
    moved = chat(place, command="other", runtime_arguments="-tp 2", log_dir="x", concurrency=1, start_timeout_s=1.0)
    assert describe(moved) == describe(llm)
    for change in ({"adapter": str(place / "lora")}, {"arguments": "--dtype half"}, {"temperature": 1.0}, {"seed": 1}):
        assert describe(chat(place, **change)) != describe(llm)


def test_unusable_and_missing_vllm_commands_have_different_errors(place: Path, tmp_path: Path) -> None:
    written = tmp_path / "vllm"
    written.write_text("#!/bin/sh")
    said = [chat(place, command=str(command)).check() for command in (written, tmp_path, tmp_path / "none")]
    assert [problems[0].removeprefix("command: ") for problems in said] == [
        f"'{written}' is not executable. Fix it with: chmod +x {written}",
        f"'{tmp_path}' is a folder, expected the program in it, e.g. {tmp_path}/bin/vllm",
        f"the program '{tmp_path}/none' does not exist. Install vLLM in a separate environment (python -m venv ~/vllm "
        "&& ~/vllm/bin/pip install vllm) and set command to ~/vllm/bin/vllm",
    ]


def test_vllm_rejects_missing_commands_and_adapters(place: Path) -> None:
    llm = chat(place, command="/no/vllm", adapter="/no/adapter", temperature=-1.0, extra_body="[")
    assert [problem.split(":")[0] for problem in llm.check()] == ["temperature", "command", "adapter", "extra_body"]


def test_process_waiting_for_a_vllm_start_names_the_log(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(managed_servers, "_REPORT_AFTER_S", 0.05)
    folder = place / "started elsewhere"
    folder.mkdir()

    def start() -> None:
        with pytest.raises(ComponentError, match="ended before it was healthy"):
            managed_servers.ensure_server(lambda port: [str(place / "vllm"), "serve", str(place / "dies")], folder, 20)

    with ThreadPoolExecutor() as threads:
        with FileLock(folder / "start.lock"):
            started = threads.submit(start)
            wait([started], 0.3)
        started.result(20)
    (record,) = caplog.records
    assert record.getMessage() == (
        f"waiting for another process, which is starting the same server; its log is {folder / managed_servers.LOG}"
    )
