"""The executor with local processes in place of Slurm jobs, and with a fake Slurm of a few lines of shell."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from components.errors import ConfigError
from runner.console.ending_signals import ENDINGS
from runner.engine.executors import slurm, slurm_workers
from runner.engine.executors.leftovers import clear_probes, clear_queues, find_drivers
from runner.engine.executors.slurm import Cluster, Slurm
from runner.engine.executors.slurm_jobs import _parameters
from runner.engine.outcome import StageRun
from runner.engine.schedule import ignore_progress, run_stages
from runner.engine.stage import Resources
from runner.engine.store import Store
from tests.extras import skip_without
from tests.runner.engine.executors import slurm_stages
from tests.runner.engine.executors.slurm_stages import (
    add_the_third_time,
    be_preempted,
    lose_the_host,
    never_end,
    run_out_of_time,
)
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Sum, Top
from tests.runner.engine.process_stages import noted
from tests.runner.engine.test_executors import chain, goes_silent, result
from tests.runner.sweeping import REPOSITORY, wait_until

skip_without("submitit", extra="slurm")

_PLAIN_SIGNS = "ab1_-"
_SIGNS = f"{_PLAIN_SIGNS}é \t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029;$`'\"#\\%&"

SECRET = "sk-do-not-write-me-down"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", run_id="this run")


def run(
    order: Sequence[Sum], store: Store, folder: Path, settings: Slurm | None = None, n_workers: int = 1
) -> dict[str, StageRun]:
    """Count the outcomes of stages by kind."""
    settings = settings or Slurm(Cluster.LOCAL)
    ended = run_stages(order, store, settings, n_workers, ignore_progress, None, folder)
    return {one.kind: one for one in ended}


def test_simulated_slurm_gives_the_same_results_and_leaves_only_logs(store: Store, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    order = chain(calls)
    ended = run(order, store, tmp_path / "sweep", n_workers=2)
    assert {kind: (one.failed, one.reused) for kind, one in ended.items()} == dict.fromkeys(
        ("source", "left", "right", "top"), (False, False)
    )
    assert result(store, order[-1]) == 6
    assert sorted(noted(calls)) == ["left", "right", "source", "top"]
    assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["logs"]
    assert {path.suffix for path in (tmp_path / "sweep" / "logs").iterdir()} <= {".out", ".err"}
    assert list((store.root / "tmp").iterdir()) == []


def test_simulated_slurm_run_survives_lost_workers_jobs_and_hosts(store: Store, tmp_path: Path) -> None:
    component = Adder(calls=str(tmp_path / "calls"))
    order = [
        Source(component, compute=add_the_third_time),
        Left(component, compute=never_end),
        Right(component, compute=lose_the_host),
        Top(component, compute=be_preempted),
        Sum(component, compute=run_out_of_time),
    ]
    ended = run(order, store, tmp_path / "sweep")
    assert {kind: one.failed for kind, one in ended.items()} == {
        "source": False, "left": True, "right": False, "top": False, "sum": False,
    }  # fmt: skip
    assert {kind: noted(tmp_path / "calls").count(kind) for kind in ended} == {
        "source": 3, "left": 3, "right": 2, "top": 2, "sum": 1,
    }  # fmt: skip
    assert "was killed (SIGKILL), most likely because memory ran out (the log of its job" in ended["left"].error
    log = Path(ended["left"].error.partition(" is ")[2].partition(")")[0])
    assert log.parent == tmp_path / "sweep" / "logs"
    assert log.is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_slurm_workers_end_with_their_driver(number: signal.Signals, tmp_path: Path) -> None:
    code = f"from {slurm_stages.__name__} import beat_in_a_job; beat_in_a_job({str(tmp_path)!r})"
    driver = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, start_new_session=True)
    beats = tmp_path / "beats"
    try:
        wait_until(lambda: bool(noted(beats)), driver)
        os.kill(driver.pid, number)
        driver.wait(20)
        if number is signal.SIGINT:  # nothing is left by then
            assert driver.returncode == 0
            assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["logs"]
        assert goes_silent(beats)
        worker = int(noted(beats)[0])
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
        if number is signal.SIGKILL:
            assert len(list((tmp_path / "store" / "tmp").glob("probe-*"))) == 1
            assert len(list((tmp_path / "sweep" / "logs").glob("*.pkl"))) == 1
            clear_queues(tmp_path, find_drivers(tmp_path))
            clear_probes(Store(tmp_path / "store"))
        assert list((tmp_path / "store" / "tmp").iterdir()) == []
        assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["logs"]
        assert {path.suffix for path in (tmp_path / "sweep" / "logs").iterdir()} <= {".out", ".err"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)


FAKE = {
    "sbatch": """
        id=$(( $(cat $SLURM/last) + 1 )); echo $id > $SLURM/last; cp $1 $SLURM/$id.sh
        out=$(sed -n "s/%j/$id/; s/^#SBATCH --output=//p" $1); err=$(sed -n "s/%j/$id/; s/^#SBATCH --error=//p" $1)
        export SLURM_JOB_ID=$id
        env --default-signal=TERM setsid bash $SLURM/$id.sh > $out 2> $err < /dev/null & echo $! > $SLURM/$id.pid
        echo Submitted batch job $id""",
    "srun": 'while [ "${1#--}" != "$1" ]; do case $1 in --output|--error) shift 2;; *) shift;; esac; done; exec "$@"',
    "sacct": "echo Slurm accounting storage is disabled >&2; exit 1",
    "squeue": "for f in $SLURM/*.pid; do kill -0 $(cat $f) && echo $(basename $f .pid) RUNNING; done; true",
    "scancel": "echo $1 >> $SLURM/cancelled; kill -TERM -- -$(cat $SLURM/$1.pid) 2> /dev/null || true",
}
"""Slurm as far as one host and jobs that are no arrays need it, without accounts."""


@pytest.fixture
def fake_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "slurm"
    (folder / "bin").mkdir(parents=True)
    for name, text in FAKE.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    (folder / "last").write_text("0")
    monkeypatch.setenv("SLURM", str(folder))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return folder


def test_slurm_script_contains_the_settings_and_no_secret(fake_slurm: Path, store: Store, tmp_path: Path) -> None:
    settings = Slurm(partition="fast", account="us", cpus_per_worker=2, mem_gb=1.5, additional={"qos": "high"})
    assert not any(one.failed for one in run(chain(tmp_path / "calls"), store, tmp_path / "sweep", settings).values())
    assert result(store, chain()[-1]) == 6
    script = (fake_slurm / "1.sh").read_text()
    for line in ("partition=fast", "account=us", "cpus-per-task=2", "mem=1536MB", "qos=high", "no-requeue", "time=240"):
        assert f"#SBATCH --{line}\n" in script
    assert "srun" in script
    files = [path for folder in (tmp_path / "sweep", store.root) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert not any(SECRET.encode() in path.read_bytes() for path in [*files, fake_slurm / "1.sh"])


def test_failed_slurm_job_reports_its_output(fake_slurm: Path, store: Store, tmp_path: Path) -> None:
    settings = Slurm(setup=("echo no such module >&2", "exit 1"))
    with pytest.raises(ConfigError, match=r"Slurm job 1 ended .* without a heartbeat. Its output:\nno such module"):
        run(chain(), store, tmp_path / "sweep", settings)
    assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["logs"]


def test_slurm_messages_are_not_printed(
    fake_slurm: Path, store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not any(one.failed for one in run(chain(), store, tmp_path / "sweep", Slurm()).values())
    assert capfd.readouterr() == ("", "")


def test_refused_slurm_job_reports_the_reason(
    fake_slurm: Path, store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (fake_slurm / "bin" / "sbatch").write_text("#!/bin/bash\necho invalid partition >&2; exit 1\n")
    with pytest.raises(ConfigError, match="refuses the jobs: invalid partition"):
        run(chain(), store, tmp_path / "sweep", Slurm())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", ENDINGS)
def test_slurm_job_submitted_while_the_command_ends_is_cancelled(
    number: signal.Signals, fake_slurm: Path, store: Store, tmp_path: Path
) -> None:
    submit = fake_slurm / "bin" / "sbatch"
    submit.write_text(submit.read_text().replace("#!/bin/bash", f"#!/bin/bash\nkill -{number} $PPID; sleep 0.05"))
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(chain(), store, tmp_path / "sweep", Slurm())
    finally:
        signal.signal(number, before)
    assert noted(fake_slurm / "cancelled") == ["1"]
    assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["logs"]


class TestProblems:
    @pytest.fixture(autouse=True)
    def sbatch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(slurm.shutil, "which", lambda _: "/usr/bin/sbatch")

    def test_default_slurm_settings_pass_the_check(self) -> None:
        assert Slurm().check() == []

    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ({"time_min": 0}, "time_min: got 0, expected more than 0"),
            ({"mem_gb": -1}, "mem_gb: got -1, expected at least 0"),
            ({"resources": {"source": Resources(gpus=1)}}, "resources.source.gpus: got 1, but a worker has 0. Raise"),
            ({"setup": ("export OPENAI_API_KEY=a",)}, "setup: sets OPENAI_API_KEY, which would be written into files"),
            ({"additional": {"export": "ALL,HF_TOKEN=a"}}, "additional.export: sets HF_TOKEN, which would be written"),
            ({"additional": {"token": "a"}}, "additional.token: sets token, which would be written into files"),
            ({"partition": "a\nid"}, "partition: has a line break or a control character"),
            ({"account": "a\x85id"}, "account: has a line break or a control character"),
            ({"additional": {"qos": "a\u2028id"}}, "additional.qos: has a line break or a control character"),
            ({"additional": {"qos\nid\n": "a"}}, "additional: got the name 'qos\\nid\\n', expected letters, digits"),
            ({"additional": {"a b": True}}, "additional: got the name 'a b', expected letters, digits, - and _"),
        ],
    )
    def test_slurm_rejects_invalid_settings(self, settings: dict[str, Any], problem: str) -> None:
        (told,) = Slurm(**settings).check()
        assert told.startswith(problem)

    def test_valid_slurm_settings_add_no_line_to_the_script(self) -> None:
        from submitit.slurm.slurm import _make_sbatch_string

        def script(settings: Slurm, folder: str) -> list[str]:
            given = _parameters(settings)
            values = {name.removeprefix("slurm_"): value for name, value in given.items() if "slurm_" in name}
            return str(_make_sbatch_string("python", folder, **values)).splitlines()

        random = Random(5)
        plain = Slurm(partition="p", account="a", additional={"n": "v"})
        n_lines = len(script(plain, "/logs"))
        n_accepted = 0
        for _ in range(2000):
            signs = [_SIGNS if random.random() < 0.4 else _PLAIN_SIGNS for _ in range(5)]
            name, *texts = ("".join(random.choices(each, k=random.randint(1, 4))) for each in signs)
            settings = Slurm(partition=texts[0], account=texts[1], additional={name: texts[2]})
            folder = f"/{texts[3]}"
            if settings.check() or settings.folder_problems(Path(folder)):
                continue
            n_accepted += 1
            lines = script(settings, folder)
            assert len(lines) == n_lines
            started = [line for line in lines if line and not line.startswith("#")]
            assert [line.split(" ")[0] for line in started] == ["export", "export", "srun"]
        assert n_accepted > 100

    @pytest.mark.parametrize(
        ("folder", "problem"),
        [
            ("/a\nid", "a folder in its path has a line break or a control character in its name"),
            ("/a%jb", "/a%jb contains %, which Slurm replaces in the paths of logs. Choose another folder."),
            ("/a\\b", "/a\\b contains \\, which Slurm replaces in the paths of logs. Choose another folder."),
        ],
    )
    def test_folder_that_slurm_would_misread_is_rejected(self, folder: str, problem: str) -> None:
        assert Slurm().folder_problems(Path(folder)) == [f"run.results_dir: {problem}"]
        assert Slurm().folder_problems(Path("/results/ü 中/2026")) == []

    def test_host_without_sbatch_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(slurm.shutil, "which", lambda _: None)
        (told,) = Slurm().check()
        assert told.startswith("cluster: slurm requires sbatch, which this host lacks")


class TestHosts:
    @pytest.fixture
    def executed(self, store: Store, tmp_path: Path) -> Callable[..., str]:
        """Return the message if the only host differs from the driver's."""

        def execute() -> str:
            with pytest.raises(ConfigError) as refused:
                run(chain(), store, tmp_path / "sweep")
            return str(refused.value)

        return execute

    def test_slurm_hosts_with_other_versions_are_refused(
        self, executed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        versions = slurm_workers.versions_to_match(("tiny_components",))  # whose stages these are
        monkeypatch.setattr(slurm_workers, "versions_to_match", lambda _: {**versions, "numpy": "1.0"})
        assert re.search(r"host \S+ is not used: numpy is 2\S+ there and 1.0 here. Results depend", executed())

    def test_slurm_hosts_with_another_store_are_refused(
        self, executed: Callable[..., str], monkeypatch: pytest.MonkeyPatch, store: Store
    ) -> None:
        monkeypatch.setattr(Path, "touch", lambda self: None if self.parent.name == "tmp" else self.write_bytes(b""))
        assert f"run.store_dir {store.root} is not the same folder there" in executed()
