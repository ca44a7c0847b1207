"""The configurations of a sweep's jobs, and the files that tell of them.

Hydra composes in 60 ms, which is long for hundreds of cells: jobs that choose the same options share a composition, and
equal parts of their files share a text.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import get_overrides_dirname
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import filter_overrides
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from runner.launch.axes import axes_of, plain_of
from runner.pipeline.planned import Job


@dataclass(frozen=True)
class ComposedJob:
    """A job with its configuration as Hydra made it, which is not resolved, and its folder within the sweep's."""

    job: Job
    config: DictConfig
    overrides: tuple[str, ...]
    folder: Path


class JobComposer:
    """Composes the jobs of a sweep. `master` is Hydra's configuration of the whole sweep."""

    def __init__(self, config_loader: Any, master: DictConfig) -> None:
        self._config_loader = config_loader
        self._master = master
        self._parser = OverridesParser.create()
        self._composed: dict[tuple[str, ...], _Composition] = {}

    def compose(self, overrides: Sequence[str], number: int) -> ComposedJob:
        """Job `number`. Raises what Hydra raises for an override that does not fit."""
        parsed = self._parser.parse_overrides(list(overrides))
        values = [override for override in parsed if self._sets_value(override)]
        options = [str(override.input_line) for override in parsed if not self._sets_value(override)]
        composition = self._composition(options)
        try:
            config = composition.with_values(values)
        except OmegaConfBaseException:  # composed whole for Hydra's message, which tells what would fit
            composition = self._composition(overrides)
            config = composition.task
        plain = plain_of(config)
        task_overrides = tuple(filter_overrides(overrides))
        job = Job(plain, axes_of(plain, composition.choices, task_overrides), task_overrides)
        return ComposedJob(job, config, tuple(overrides), composition.folder_of(parsed, number))

    def _composition(self, options: Sequence[str]) -> "_Composition":
        key = tuple(options)
        if key not in self._composed:
            self._composed[key] = _Composition(self._config_loader.load_sweep_config(self._master, list(options)))
        return self._composed[key]

    def _sets_value(self, override: Override) -> bool:
        """True for "a.b=value" and "top_k=value", and for nothing that chooses an option, adds or removes: a key with
        dots is no group, nor is one that has a plain value in the configuration.
        """
        if override.is_add() or override.is_force_add() or override.is_delete() or override.package is not None:
            return False
        key = override.key_or_group
        return "/" not in key and ("." in key or self._is_plain(key))

    def _is_plain(self, key: str) -> bool:
        return key in self._master and not OmegaConf.is_config(self._master._get_node(key))


class _Composition:
    """What Hydra composed for some options."""

    def __init__(self, config: DictConfig) -> None:
        self._hydra = config.hydra
        self.task = copy.deepcopy(config)
        with open_dict(self.task):
            del self.task["hydra"]
        self.choices: Any = OmegaConf.to_container(config.hydra.runtime.choices)

    def with_values(self, values: Sequence[Override]) -> DictConfig:
        """A copy in which these are set. Raises OmegaConfBaseException."""
        config = copy.deepcopy(self.task)
        for override in values:
            OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
        return config

    def folder_of(self, overrides: list[Override], number: int) -> Path:
        """`hydra.sweep.subdir` of a job, and Hydra's folder in it."""
        job = self._hydra.job
        with open_dict(job):
            job.override_dirname = get_overrides_dirname(overrides=overrides, **self._dirname_settings)
            job.id, job.num = str(number), number
        return Path(str(self._hydra.sweep.subdir)) / str(self._hydra.output_subdir)

    @cached_property
    def _dirname_settings(self) -> Any:
        return OmegaConf.to_container(self._hydra.job.config.override_dirname)


def write_jobs(sweep_dir: Path, jobs: Sequence[ComposedJob]) -> None:
    """What Hydra keeps of each job: its configuration and its overrides. Hydra's own settings are those of the whole
    sweep, and lie in its multirun.yaml.
    """
    texts: dict[tuple[str, str], str] = {}
    for job in jobs:
        folder = sweep_dir / job.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(_yaml(job.config, texts), encoding="utf-8")
        (folder / "overrides.yaml").write_text(OmegaConf.to_yaml(list(job.overrides)), encoding="utf-8")


def _yaml(config: DictConfig, texts: dict[tuple[str, str], str]) -> str:
    """As OmegaConf writes it, with the texts of top-level nodes that were written before."""
    plain: Any = OmegaConf.to_container(config, enum_to_str=True)
    parts = []
    for name, node in plain.items():
        key = (name, repr(node))
        if key not in texts:
            texts[key] = OmegaConf.to_yaml(OmegaConf.create({name: node}))
        parts.append(texts[key])
    return "".join(parts)
