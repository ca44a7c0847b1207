"""Hydra launcher for the whole grid: composes all jobs first, plans them together, then runs the plan.

Hydra's launchers work too (`hydra/launcher=basic`, `joblib`, ...). They run cell by cell and share the store.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType

from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from components.errors import ConfigError
from runner.engine.plugins.working_directory import without_working_directory
from runner.launch.composed_jobs import ComposedJob, JobComposer, write_sweep_jobs
from runner.launch.grid_sweeper import SweeperSettings, check_axis, expand
from runner.launch.hydra_startup import REPLACE, load_installed_plugins, skip_unused_maps
from runner.launch.preset_source import PackageAsGroup, PresetSearchPath
from runner.launch.request import check_jobs
from runner.launch.search_jobs import SearchJobs
from runner.launch.search_space import SearchSpace, read_space, searches
from runner.launch.sweep import EXIT_INTERRUPTED, EXIT_OVER_BUDGET, RunJobs, run_sweep

_PROVIDER = "rag-grid"
"""The name that Hydra shows for our nodes."""


class GridLauncher(Launcher):  # type: ignore[misc]
    """Composes, checks and plans all jobs of a sweep, then runs their union."""

    def __init__(self) -> None:
        self.exit_code = 0
        self.ends_process = True
        self._config: DictConfig | None = None
        self._composer: JobComposer | None = None
        self._run_jobs: RunJobs = run_sweep

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store the context that Hydra passes. The task function is not called.

        If the task function has an attribute `run_jobs`, this attribute runs all jobs instead of `run_sweep`.
        """
        self._config = config
        self._run_jobs = getattr(task_function, "run_jobs", run_sweep)
        self._composer = JobComposer(hydra_context.config_loader, config)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run all jobs as one sweep, and end the process with its exit code.

        Returns instead if the code is 0, or if more batches may follow. `exit_code` is the largest code so far.
        """
        assert self._composer is not None
        return self._run([self._composer.compose(each, initial_job_idx + i) for i, each in enumerate(job_overrides)])

    def _run(self, composed: Sequence[ComposedJob]) -> Sequence[JobReturn]:
        assert self._config is not None
        hydra = self._config.hydra
        jobs = [each.job for each in composed]
        write_config = partial(write_sweep_jobs, self._config, composed)
        code = self._run_jobs(jobs, Path(hydra.sweep.dir).name, list(hydra.overrides.task), write_config)
        self.exit_code = max(self.exit_code, code)
        if code and (self.ends_process or code in (EXIT_OVER_BUDGET, EXIT_INTERRUPTED)):
            raise SystemExit(code)
        return [_job_return(each) for each in composed]

    def launch_all(self, batches: Sequence[Sequence[Sequence[str]]]) -> list[Sequence[JobReturn]]:
        """Run all batches, even after a failed cell, and then end the process with the largest exit code."""
        assert self._composer is not None
        self.ends_process = False
        composed = iter(self._composer.compose_sweep([job for batch in batches for job in batch]))
        returned = [self._run(list(islice(composed, len(batch)))) for batch in batches]
        if self.exit_code:
            raise SystemExit(self.exit_code)
        return returned

    def launch_search(self, space: SearchSpace) -> None:
        """Run a search as one sweep, and end the process with its exit code unless that is 0."""
        assert self._config is not None
        assert self._composer is not None
        hydra, search = self._config.hydra, SearchJobs(space, self._composer, self._config)
        sweep_id, overrides = Path(hydra.sweep.dir).name, list(hydra.overrides.task)
        self.exit_code = self._run_jobs(search.corners(), sweep_id, overrides, search.write_accepted, search=search)
        if self.exit_code:
            raise SystemExit(self.exit_code)


def make_grid_sweeper() -> type:  # noqa: C901 - its class counts as one function
    """Create Hydra's basic sweeper with axes that can be coupled or varied one at a time (see `grid_sweeper.expand`).

    All jobs are composed and checked before any is run. Under our launcher, nothing is written before that. The class
    is created here, because Hydra reloads its plugins on its first search for plugins. That invalidates earlier
    subclasses.
    """
    Plugins.instance()
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    class GridSweeper(BasicSweeper):  # type: ignore[misc]
        launcher: Launcher

        def __init__(
            self,
            max_batch_size: int | None,
            params: Mapping[str, str] | None,
            coupled: Sequence[Sequence[str]],
            one_at_a_time: bool,
            max_cells: int,
        ) -> None:
            super().__init__(max_batch_size, params)
            self._coupled = coupled
            self._one_at_a_time = one_at_a_time
            self._max_cells = max_cells

        def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
            super().setup(hydra_context=hydra_context, task_function=task_function, config=config)
            if config.run.plan_only and not isinstance(self.launcher, GridLauncher):
                self.launcher = GridLauncher()  # other launchers would plan each cell by itself
                self.launcher.setup(hydra_context=hydra_context, task_function=task_function, config=config)

        def split_arguments(self, overrides: list[Override], max_batch_size: int | None) -> list[list[list[str]]]:
            """Return batches of jobs. Hydra expands the values of each axis. The later of two overrides of one key
            wins.
            """
            with _hydra_errors():
                axes = {override.get_key_element(): self._values(override) for override in overrides}
                jobs = expand(axes, self._coupled, one_at_a_time=self._one_at_a_time, max_cells=self._max_cells)
            return list(self.split_overrides_to_chunks(jobs, max_batch_size))

        def _values(self, override: Override) -> list[str]:
            check_axis(override, self._max_cells)
            (values,) = BasicSweeper.split_arguments([override], None)
            return [value for (value,) in values]

        def sweep(self, arguments: list[str]) -> list[Sequence[JobReturn]]:
            """Check all jobs, then run them. A search checks each value, and proposes jobs while it runs."""
            launcher = self.launcher
            if searches(self.config):
                with _hydra_errors():
                    _require_no_other_choice(launcher, self._one_at_a_time, self.max_batch_size)
                    value_in = JobComposer(self.hydra_context.config_loader, self.config).find_current_value
                    space = read_space(self._parse(arguments), self.config, self._coupled, self._values, value_in)
                launcher.launch_search(space)
                return []
            if isinstance(launcher, GridLauncher):
                return launcher.launch_all(self._batches(arguments))
            _check(self._batches(arguments), JobComposer(self.hydra_context.config_loader, self.config))
            with _hydra_errors():
                _require_no_plugins_here()
            with without_working_directory():
                returned: list[Sequence[JobReturn]] = super().sweep(arguments)
            return returned

        def _parse(self, arguments: list[str]) -> list[Override]:
            parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
            return list(parser.parse_overrides([*self._parse_config(), *arguments]))

        def _batches(self, arguments: list[str]) -> list[list[list[str]]]:
            return self.split_arguments(self._parse(arguments), self.max_batch_size)

        def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
            """Accept the batch: all jobs were composed before."""

    return GridSweeper


def _require_no_plugins_here() -> None:
    """Raise ConfigError if the working directory is on the path and contains a folder `hydra_plugins`.

    Workers of Hydra's launchers get the path, and unpickle the launcher from there before any code of ours runs.
    """
    here = Path.cwd()
    if str(here) in sys.path and (here / "hydra_plugins").exists():
        raise ConfigError(
            [
                f"hydra/launcher: its workers would import {here / 'hydra_plugins'}. Rename it, or use "
                "hydra/launcher=grid"
            ]
        )


def _require_no_other_choice(launcher: Launcher, one_at_a_time: bool, max_batch_size: int | None) -> None:
    """Raise ConfigError for settings of Hydra's node that a search would ignore, and for Hydra's other launchers."""
    others = {"one_at_a_time": one_at_a_time, "max_batch_size": max_batch_size}
    problems = [
        f"search: hydra.sweeper.{name} chooses cells too. Leave it out, or use search=none"
        for name, is_set in others.items()
        if is_set
    ]
    if not isinstance(launcher, GridLauncher):
        problems.append("search: one process must see all cells. Use hydra/launcher=grid, or search=none.")
    if problems:
        raise ConfigError(problems)


def _check(batches: Sequence[Sequence[Sequence[str]]], composer: JobComposer) -> None:
    """Check all cells that Hydra's other launchers will run.

    Hydra writes configurations to disk before it runs them. A refused configuration must not be written, because it may
    contain a secret.
    """
    overrides = [each for batch in batches for each in batch]
    composed = composer.compose_sweep(overrides)
    for given, job in zip(overrides, composed, strict=True):
        if lacking := [each for each in given if each not in job.overrides]:
            raise HydraException(f"{lacking[0]}: applies only to some cells, which needs hydra/launcher=grid")
    with _hydra_errors():
        requests = check_jobs([each.job for each in composed])
        if any(request.cell.run.report for request in requests):
            raise ConfigError(
                [
                    "run.report: needs hydra/launcher=grid, because other launchers run each cell by itself. Leave it "
                    "out, and write the report afterwards: python -m analysis report SWEEP."
                ]
            )


@contextmanager
def _hydra_errors() -> Iterator[None]:
    """Convert our errors to Hydra's."""
    try:
        yield
    except ConfigError as error:
        raise HydraException(str(error)) from None


def _job_return(composed: ComposedJob) -> JobReturn:
    returned = JobReturn(overrides=composed.overrides, working_dir=str(Path.cwd()), task_name="runner")
    returned.status = JobStatus.COMPLETED
    returned.return_value = None
    return returned


def register() -> None:
    """Register `hydra/launcher=grid` and `hydra/sweeper=grid` with Hydra.

    Hydra only accepts plugins from modules under `hydra_plugins`. So we create a module of that name here, and install
    no file into a namespace that other distributions share.
    """
    skip_unused_maps()
    name = "hydra_plugins.rag_grid"
    load_installed_plugins()
    sys.modules[name] = ModuleType(name)
    nodes: dict[type, object] = {
        GridLauncher: {"_target_": f"{name}.GridLauncher"},
        make_grid_sweeper(): SweeperSettings,
    }
    for plugin_class in (PackageAsGroup, PresetSearchPath):
        Plugins.instance().register(plugin_class)
    for plugin, node in nodes.items():
        setattr(sys.modules[name], plugin.__name__, plugin)
        plugin.__module__, plugin.__qualname__ = name, plugin.__name__
        Plugins.instance().register(plugin)
        group = "hydra/launcher" if plugin is GridLauncher else "hydra/sweeper"
        if not _has_node(group):  # a new node would end the cache of `PartsLoader`
            ConfigStore.instance().store(group=group, name="grid", node=node, provider=_PROVIDER, **REPLACE)


def _has_node(group: str) -> bool:
    store, path = ConfigStore.instance(), f"{group}/grid.yaml"
    return store.get_type(path) is ObjectType.CONFIG and store.load(path).provider == _PROVIDER
