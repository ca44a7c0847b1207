"""Composes the cells that a search proposes, when it proposes them."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from runner.launch.composed_jobs import ComposedJob, JobComposer, write_sweep_jobs
from runner.launch.request import check_jobs
from runner.launch.search_space import SearchSpace
from runner.launch.search_strategies import Point
from runner.pipeline.planned_cells import CellRequest, Job


class SearchJobs:
    """The jobs of a search over `space`. `master` is Hydra's configuration of the whole sweep."""

    def __init__(self, space: SearchSpace, composer: JobComposer, master: DictConfig) -> None:
        self.space = space
        self._composer = composer
        self._master = master
        self._accepted: list[ComposedJob] = []
        self._n_written = 0
        self.points: list[Point] = []
        """The points of `corners`."""
        self.along: list[list[Point]] = []
        """For each axis, the points that differ only in its value."""

    def corners(self) -> list[Job]:
        """Return jobs with every value of every axis: see `SearchSpace.corners`. Raises HydraException or
        OmegaConfBaseException for values that cannot be composed.

        If the first option of a group lacks a field, the field's values are tried with the first option that has it.
        """
        points = list(self.space.corners())
        composed = self._composer.compose_sweep([self.space.overrides(point) for point in points], each_value=False)
        applied = dict(zip(points, (job.overrides for job in composed), strict=True))
        self.along = [self.space.along(axis, self._find_base(axis, applied)) for axis in range(len(self.space.axes))]
        self.points = list(dict.fromkeys([*points, *chain.from_iterable(self.along)]))
        more = [self._composer.compose(self.space.overrides(point), 0) for point in self.points[len(points) :]]
        return [each.job for each in (*composed, *more)]

    def _find_base(self, axis: int, applied: Mapping[Point, Sequence[str]]) -> Point:
        """Return the first point at which the first value of an axis applies, or else the first point of all."""
        first = set(self.space.axes[axis].steps[0])
        base = next(iter(applied))
        return next((point for point, overrides in applied.items() if first <= set(overrides)), base)

    def request(self, point: Point, *, accept: bool = True) -> CellRequest:
        """Return the checked cell at a point. Its configuration will be written, unless `accept` is False.

        Raises ConfigError if its values are not a valid combination.
        """
        overrides = self.space.overrides(point)
        try:
            composed = self._composer.compose(overrides, len(self._accepted))
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError(str(error)) from error
        (request,) = check_jobs([composed.job])
        if accept:
            self._accepted.append(composed)
        return request

    def write_accepted(self, sweep_dir: Path) -> None:
        """Write the configurations of the jobs that were accepted since the last call."""
        new: Sequence[ComposedJob] = self._accepted[self._n_written :]
        write_sweep_jobs(self._master, new, sweep_dir)
        self._n_written = len(self._accepted)
