"""Overhead of executors: hundreds of stages that do nothing, through each executor that can run here."""

import time
from collections.abc import Iterator, Mapping
from importlib.resources import files

import yaml

from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.errors import ConfigError
from components.json_value import Json
from runner.engine.codecs import SinglePart
from runner.engine.executors.protocol import Executor
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store
from runner.pipeline.building import build_component

_N_STAGES = 400
_N_WORKERS = 2

_HERE: Mapping[str, Mapping[str, Json]] = {
    "ray": {"address": "local"},
    "slurm": {"cluster": "local", "cpus_per_worker": 1, "mem_gb": 0},
}
"""Settings with which an executor of clusters runs on this machine."""

_BOUNDS_MS = {"local": 5.0, "processes": 5.0, "ray": 12.0}
"""Per stage."""


class Trivial(Stage[int], kind="trivial", version=1):
    """A stage with a number, which reads another stage."""

    codec = SinglePart("number")

    number: int
    before: Stage[int] | None = None

    def make(self, run: Run) -> int:
        return self.number + (run.read(self.before) if self.before else 0)


def measure(settings: Settings) -> list[Measure]:
    """Return the milliseconds per stage after the first one, with two workers, and the seconds until then."""
    measures: list[Measure] = []
    for name, executor in _executors():
        first_s, rest_s = _time_stages(executor, Store(settings.scratch / name))
        bound = Bound(_BOUNDS_MS[name]) if name in _BOUNDS_MS else None
        detail = f"{_N_STAGES} stages of nothing; the first ended after {first_s:.1f} s"
        measures.append(Measure(f"a stage on {name}", rest_s / (_N_STAGES - 1) * 1000, "ms", detail, bound))
    return measures


def _executors() -> Iterator[tuple[str, Executor]]:
    """Yield the executors of the configuration whose packages are installed."""
    for file in sorted(files("conf").joinpath("executor").iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".yaml")
        if name == file.name:
            continue
        node = {**yaml.safe_load(file.read_text(encoding="utf-8")), **_HERE.get(name, {})}
        try:
            yield name, build_component(node, Executor, "executor")
        except ConfigError as error:
            print(f"{name}: left out: {error}")


def _time_stages(executor: Executor, store: Store) -> tuple[float, float]:
    """Return the seconds until the first stage has ended, and from then to the end of the last."""
    first = Trivial(0)
    stages = [first, *(Trivial(number, first) for number in range(1, _N_STAGES))]
    started = time.perf_counter()
    ended = []
    for run in run_stages(stages, store, executor, _N_WORKERS, folder=store.root.parent):
        assert not run.failed, run.error
        ended.append(time.perf_counter())
    return ended[0] - started, ended[-1] - ended[0]
