"""A Hydra launcher that sees the whole grid: it composes every job first, plans them together, then runs the plan.

Hydra's own launchers work too (`hydra/launcher=basic`, `joblib`, ...): they run cell by cell and share the store.
"""

import copy
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hydra._internal.config_loader_impl import get_overrides_dirname
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from runner.launch.grid_sweeper import SweeperSettings, expand
from runner.launch.preset_source import PackageAsGroup, PresetSearchPath
from runner.launch.request import Job
from runner.launch.sweep import EXIT_INTERRUPTED, run_sweep

GROUPS = (
    "dataset",
    "chunk",
    "tokenizer",
    "embedder",
    "vector_index",
    "expander",
    "retriever",
    "reranker",
    "context",
    "prompt",
    "llm",
    "metrics",
    "judge",
)
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
        _, _, place = name.rpartition("@")  # an option that goes to a place of its own: "llm@judge.llm"
        if place.split(".")[0] not in _NO_AXES and place not in GROUPS:
            axes[place] = hydra.runtime.choices.get(name) or OmegaConf.select(config, place)
    return Job(plain, {name: _plain(value) for name, value in axes.items()}, overrides)


def _plain(value: Any) -> Any:
    """A component goes by the name of its class, so that it is readable as a parameter."""
    plain = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    return plain["_target_"].rpartition(".")[2] if isinstance(plain, dict) and "_target_" in plain else plain


class GridLauncher(Launcher):  # type: ignore[misc]
    """Composes, checks and plans all jobs of a sweep, then runs their union."""

    def __init__(self) -> None:
        self.exit_code = 0
        self.ends_process = True
        self._config: DictConfig | None = None
        self._compose = ComposeOnce(None)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra hands over what it has; the task function is not needed."""
        self._config = config
        self._compose = ComposeOnce(hydra_context.config_loader)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Runs all jobs as one sweep, and ends the process with its exit code unless that is 0 or more batches may
        follow: then `exit_code` is the largest of all.
        """
        assert self._config is not None
        sweep_dir = Path(self._config.hydra.sweep.dir)
        configs = [
            self._compose(self._config, list(overrides), initial_job_idx + i)
            for i, overrides in enumerate(job_overrides)
        ]
        for config in configs:
            _write_job_folder(sweep_dir, config)
        code = run_sweep(
            [job_of(config) for config in configs], sweep_dir.name, list(self._config.hydra.overrides.task)
        )
        self.exit_code = max(self.exit_code, code)
        if code and (self.ends_process or code == EXIT_INTERRUPTED):
            raise SystemExit(code)
        return [_returned(config, overrides) for config, overrides in zip(configs, job_overrides, strict=True)]


def make_grid_sweeper() -> type:
    """Hydra's basic sweeper with axes that can be coupled or varied one at a time (see `grid_sweeper.expand`), less its
    check that composes every job once more: our launcher composes all of them before it runs any.

    Made late: Hydra loads its own plugins anew when it first looks for plugins, which unmakes earlier subclasses.
    """
    Plugins.instance()
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    class GridSweeper(BasicSweeper):  # type: ignore[misc]
        def __init__(
            self,
            max_batch_size: int | None,
            params: Mapping[str, str] | None,
            coupled: Sequence[Sequence[str]],
            one_at_a_time: bool,
        ) -> None:
            super().__init__(max_batch_size, params)
            self._coupled = coupled
            self._one_at_a_time = one_at_a_time

        def split_arguments(self, overrides: list[Override], max_batch_size: int | None) -> list[list[list[str]]]:
            """Batches of jobs. Hydra itself writes out the values of each axis; of two overrides the later counts."""
            axes: dict[str, list[str]] = {}
            for override in overrides:
                (values,) = BasicSweeper.split_arguments([override], None)
                axes[override.get_key_element()] = [value for (value,) in values]
            try:
                jobs = expand(axes, self._coupled, one_at_a_time=self._one_at_a_time)
            except ConfigError as error:  # as what a mistake on the command line is, to Hydra
                raise HydraException(str(error)) from None
            return list(self.split_overrides_to_chunks(jobs, max_batch_size))

        def sweep(self, arguments: list[str]) -> Any:
            """Runs all batches, also behind one with a failed cell, and then ends the process with their exit code."""
            launcher = self.launcher
            if not isinstance(launcher, GridLauncher):
                return super().sweep(arguments)
            launcher.ends_process = False
            returned = super().sweep(arguments)
            if launcher.exit_code:
                raise SystemExit(launcher.exit_code)
            return returned

        def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
            if not isinstance(self.launcher, GridLauncher):
                super().validate_batch_is_legal(batch)

    return GridSweeper


class ComposeOnce:
    """Composes a job's configuration; jobs that choose the same options share one composition (60 ms), and their values
    are set in a copy of it.
    """

    def __init__(self, config_loader: Any) -> None:
        self._config_loader = config_loader
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def __call__(self, master: DictConfig, overrides: list[str], number: int) -> Any:
        """The configuration of job `number`. Raises what Hydra raises for an override that does not fit."""
        parsed = OverridesParser.create().parse_overrides(overrides)
        values = [override for override in parsed if _sets_value(override)]
        options = tuple(str(override.input_line) for override in parsed if not _sets_value(override))
        if options not in self._composed:
            self._composed[options] = self._config_loader.load_sweep_config(master, list(options))
        config = copy.deepcopy(self._composed[options])
        for override in values:
            try:
                OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
            except OmegaConfBaseException:  # for its message, which tells what would fit
                return self._config_loader.load_sweep_config(master, overrides)
        with open_dict(config):
            config.hydra.overrides.task = overrides
            config.hydra.job.override_dirname = get_overrides_dirname(
                overrides=parsed, **config.hydra.job.config.override_dirname
            )
            config.hydra.job.id = str(number)
            config.hydra.job.num = number
        return config


def _sets_value(override: Override) -> bool:
    """True for "a.b=value": a dotted key is no group, and nothing is added, removed or left to Hydra's own settings."""
    plain = not (override.is_add() or override.is_force_add() or override.is_delete())
    return plain and "." in override.key_or_group and "/" not in override.key_or_group and override.package is None


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
    """Makes `hydra/launcher=grid` and `hydra/sweeper=grid` known to Hydra.

    Hydra takes plugins from modules under `hydra_plugins` alone, so the classes get a module of that name made here: no
    file has to be installed into a namespace that other distributions share.
    """
    name = "hydra_plugins.rag_grid"
    try:
        importlib.import_module("hydra_plugins")
    except ImportError:
        sys.modules["hydra_plugins"] = ModuleType("hydra_plugins")
        sys.modules["hydra_plugins"].__path__ = []  # Hydra looks for further plugins in it
    sys.modules[name] = ModuleType(name)
    nodes: dict[type, Any] = {GridLauncher: {"_target_": f"{name}.GridLauncher"}, make_grid_sweeper(): SweeperSettings}
    for plugin in (PackageAsGroup, PresetSearchPath):
        Plugins.instance().register(plugin)
    for plugin, node in nodes.items():
        setattr(sys.modules[name], plugin.__name__, plugin)
        plugin.__module__, plugin.__qualname__ = name, plugin.__name__
        Plugins.instance().register(plugin)
        group = "hydra/launcher" if plugin is GridLauncher else "hydra/sweeper"
        ConfigStore.instance().store(group=group, name="grid", node=node, provider="rag-grid")
