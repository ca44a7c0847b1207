"""A Hydra launcher that sees the whole grid: it composes every job first, plans them together, then runs the plan.

Hydra's own launchers work too (`hydra/launcher=basic`, `joblib`, ...): they run cell by cell and share the store.
"""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from runner.request import Job
from runner.sweep import run_sweep

GROUPS = ("dataset", "chunk", "embedder", "expander", "retriever", "reranker", "context", "prompt", "llm")
SCALARS = ("chunk.size", "chunk.overlap", "chunk.unit", "top_k")
_NO_AXES = ("run", "tracking", "experiment", "hydra", "sweeps")


def job_of(config: DictConfig) -> Job:
    """A composed configuration (with its `hydra` node) as plain data, with the axes that name it.

    Axes are the chosen option of every group, the scalars that nearly every sweep varies, and whatever was overridden.
    """
    hydra = config.hydra
    plain: Any = OmegaConf.to_container(
        OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"]), resolve=True
    )
    overrides = tuple(filter_overrides(hydra.overrides.task))
    axes: dict[str, Any] = {group: hydra.runtime.choices.get(group) for group in GROUPS}
    overridden = [override.lstrip("+~").partition("=")[0] for override in overrides]
    for name in (*SCALARS, *overridden):
        if name.split(".")[0] not in _NO_AXES and name not in GROUPS:
            axes[name] = OmegaConf.select(config, name)
    return Job(plain, {name: _plain(value) for name, value in axes.items()}, overrides)


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


class GridLauncher(Launcher):  # type: ignore[misc]
    """Composes, checks and plans all jobs of a sweep, then runs their union."""

    def __init__(self) -> None:
        self._config: DictConfig | None = None
        self._context: HydraContext | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra hands over what it has; the task function is not needed."""
        self._config, self._context = config, hydra_context

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Runs all jobs as one sweep, and ends the process with its exit code unless that is 0."""
        assert self._config is not None
        sweep_dir = Path(self._config.hydra.sweep.dir)
        configs = [self._compose(list(overrides), initial_job_idx + i) for i, overrides in enumerate(job_overrides)]
        for config in configs:
            _write_job_folder(sweep_dir, config)
        code = run_sweep(
            [job_of(config) for config in configs], sweep_dir.name, list(self._config.hydra.overrides.task)
        )
        if code:
            raise SystemExit(code)
        return [_returned(config, overrides) for config, overrides in zip(configs, job_overrides, strict=True)]

    def _compose(self, overrides: list[str], number: int) -> Any:
        assert self._context is not None
        assert self._config is not None
        config = self._context.config_loader.load_sweep_config(self._config, overrides)
        with open_dict(config):
            config.hydra.job.id = str(number)
            config.hydra.job.num = number
        return config


def _write_job_folder(sweep_dir: Path, config: DictConfig) -> None:
    """What Hydra keeps of each job: its configuration, its overrides, and Hydra's own settings."""
    folder = sweep_dir / config.hydra.sweep.subdir / str(config.hydra.output_subdir)
    folder.mkdir(parents=True, exist_ok=True)
    task = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    OmegaConf.save(task, folder / "config.yaml")
    OmegaConf.save(OmegaConf.masked_copy(config, "hydra"), folder / "hydra.yaml")
    OmegaConf.save(config.hydra.overrides.task, folder / "overrides.yaml")


def _returned(config: DictConfig, overrides: Sequence[str]) -> JobReturn:
    returned = JobReturn(overrides=list(overrides), cfg=config, working_dir=str(Path.cwd()), task_name="runner")
    returned.status = JobStatus.COMPLETED
    returned.return_value = None
    return returned


def register() -> None:
    """Makes `hydra/launcher=grid` known to Hydra.

    Hydra takes plugins from modules under `hydra_plugins` alone, so the class gets a module of that name made here: no
    file has to be installed into a namespace that other distributions share.
    """
    name = "hydra_plugins.rag_grid"
    try:
        importlib.import_module("hydra_plugins")
    except ImportError:
        sys.modules["hydra_plugins"] = ModuleType("hydra_plugins")
    sys.modules[name] = ModuleType(name)
    setattr(sys.modules[name], GridLauncher.__name__, GridLauncher)
    GridLauncher.__module__ = name
    Plugins.instance().register(GridLauncher)
    node = {"_target_": f"{name}.{GridLauncher.__name__}"}
    ConfigStore.instance().store(group="hydra/launcher", name="grid", node=node, provider="rag-grid")
