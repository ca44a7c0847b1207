"""The configurations of a sweep's jobs, and the files that tell of them.

A composition takes 20 ms, which is long for hundreds of cells: jobs that choose the same options share one and the
parts of it that their values do not reach, and equal parts of their files share a text.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import get_overrides_dirname
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import filter_overrides
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, flag_override, open_dict
from omegaconf.errors import OmegaConfBaseException

from components.json_value import Json
from components.secrets.mask import without_secrets
from runner.launch.axis_naming import axes_of, fill_open, plain_of, plain_part
from runner.pipeline.planned import Job

CONFIG_FOLDER = ".hydra"
_NO_VALUE = object()
_REFERENCE = re.compile(r"\$\{(\w+)(?:\.[^:{}]*)?\}")
"""An interpolation that names a place from the top, without a resolver or another one within."""


@dataclass(frozen=True)
class ComposedJob:
    """A job with its configuration as Hydra made it, which is not resolved, and its folder within the sweep's."""

    job: Job
    config: dict[str, Json]
    overrides: tuple[str, ...]
    folder: Path


class JobComposer:
    """Composes the jobs of a sweep. `master` is Hydra's configuration of the whole sweep."""

    def __init__(self, config_loader: Any, master: DictConfig) -> None:
        self._config_loader = config_loader
        self._master = master
        self._parse = cache(OverridesParser.create().parse_override)
        self._composed: dict[tuple[str, ...], _Composition] = {}

    def compose(self, overrides: Sequence[str], number: int) -> ComposedJob:
        """Job `number`. Raises what Hydra raises for an override that does not fit."""
        parsed = [self._parse(override) for override in overrides]
        values = [override for override in parsed if self._sets_value(override)]
        try:
            composition = self._composition([str(each.input_line) for each in parsed if not self._sets_value(each)])
            plain, unresolved = composition.with_values(values)
        except (HydraException, OmegaConfBaseException):  # composed whole: it may fit in the order in which it is given
            composition = self._composition(overrides)
            plain, unresolved = composition.with_values([])
        task_overrides = tuple(filter_overrides(overrides))
        job = Job(plain, axes_of(plain, composition.choices, task_overrides), task_overrides)
        return ComposedJob(job, unresolved, tuple(overrides), composition.folder_of(parsed, number))

    def _composition(self, options: Sequence[str]) -> "_Composition":
        key = tuple(options)
        if key not in self._composed:
            is_whole_sweep = key == self._options_of_sweep  # then no axis chooses options, and Hydra composed it before
            config = copy.deepcopy(self._master) if is_whole_sweep else self._composed_by_hydra(options)
            self._composed[key] = _Composition(config)
        return self._composed[key]

    def _composed_by_hydra(self, options: Sequence[str]) -> DictConfig:
        config: DictConfig = self._config_loader.load_sweep_config(self._master, list(options))
        return config

    @cached_property
    def _options_of_sweep(self) -> tuple[str, ...]:
        written: Json = OmegaConf.to_container(self._master.hydra.overrides.task)
        parsed = map(self._parse, written)
        return tuple(str(each.input_line) for each in parsed if not self._sets_value(each))

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
    """What Hydra composed for some options. It takes the configuration over, for a copy would take a sixth of the time
    that Hydra takes.
    """

    def __init__(self, config: DictConfig) -> None:
        self._hydra = config.hydra
        self._task = _without_hydra(config)
        fill_open(self._task)
        self.choices: Json = OmegaConf.to_container(config.hydra.runtime.choices)
        self._parts: dict[tuple[str, tuple[str, ...]], Json] = {}

    def with_values(self, values: Sequence[Override]) -> tuple[dict[str, Json], dict[str, Json]]:
        """The configuration in which these are set, resolved and not. Raises OmegaConfBaseException.

        They are set in place and put back, which takes a tenth of a copy, unless nodes come or go with them.
        """
        before = [(override.key_or_group, _value_at(self._task, override.key_or_group)) for override in values]
        if any(old is _NO_VALUE for _, old in before) or any(isinstance(each.value(), dict | list) for each in values):
            copied = copy.deepcopy(self._task)
            _set_all(copied, values)
            return plain_of(copied), _unresolved(copied)
        unresolved = self._as_it_is
        try:
            _set_all(self._task, values)
            resolved = self._resolved(values)
        finally:
            for key, old in before:
                OmegaConf.update(self._task, key, old)
        for override in values:
            unresolved = _changed(unresolved, override.key_or_group.split("."), override.value())
        return resolved, unresolved

    def _resolved(self, values: Sequence[Override]) -> dict[str, Json]:
        """With the values that are set now. A part is made once for all jobs that set the same where it comes from."""
        if any("${" in override.input_line for override in values):
            return plain_of(self._task)
        resolved: dict[str, Json] = {}
        for name, sources in self._sources.items():
            reaching = tuple(each.input_line for each in values if each.key_or_group.partition(".")[0] in sources)
            if (name, reaching) not in self._parts:
                self._parts[name, reaching] = plain_part(self._task, name)
            resolved[name] = self._parts[name, reaching]
        return resolved

    @cached_property
    def _sources(self) -> dict[str, set[str]]:
        return _sources(self._as_it_is)

    @cached_property
    def _as_it_is(self) -> dict[str, Json]:
        return _unresolved(self._task)

    def folder_of(self, overrides: list[Override], number: int) -> Path:
        """`hydra.sweep.subdir` of a job, and Hydra's folder in it."""
        job = self._hydra.job
        with open_dict(job):
            job.override_dirname = get_overrides_dirname(overrides=overrides, **self._dirname_settings)
            job.id, job.num = str(number), number
        return Path(str(self._hydra.sweep.subdir)) / CONFIG_FOLDER

    @cached_property
    def _dirname_settings(self) -> Json:
        return OmegaConf.to_container(self._hydra.job.config.override_dirname)


def composed_job(config: DictConfig, job: Job, folder: Path) -> ComposedJob:
    """One that Hydra composed."""
    overrides: Json = OmegaConf.to_container(config.hydra.overrides.task)
    unresolved = {name: node for name, node in _unresolved(config).items() if name != "hydra"}
    return ComposedJob(job, unresolved, tuple(overrides), folder)


def write_sweep_jobs(master: DictConfig, jobs: Sequence[ComposedJob], sweep_dir: Path) -> None:
    """What Hydra would keep of a sweep: its own configuration of it as multirun.yaml, and each job's."""
    write_jobs(jobs, sweep_dir)
    (sweep_dir / "multirun.yaml").write_text(_safe(OmegaConf.to_yaml(master)), encoding="utf-8")


def write_jobs(jobs: Sequence[ComposedJob], sweep_dir: Path) -> None:
    """What Hydra would keep of each job: its configuration and its overrides. We write them, once they are accepted."""
    texts: dict[str, str] = {}
    for job in jobs:
        folder = sweep_dir / job.folder
        folder.mkdir(parents=True, exist_ok=True)
        config = [_yaml({name: node}, texts) for name, node in job.config.items()]
        (folder / "config.yaml").write_text("".join(config), encoding="utf-8")
        overrides = [_yaml([override], texts) for override in job.overrides]
        (folder / "overrides.yaml").write_text("".join(overrides), encoding="utf-8")


def _yaml(part: dict[str, Json] | list[str], texts: dict[str, str]) -> str:
    """As OmegaConf writes it; `texts` are those of parts that were written before."""
    key = repr(part)
    if key not in texts:
        texts[key] = _safe(OmegaConf.to_yaml(OmegaConf.create(part)))
    return texts[key]


def _safe(text: str) -> str:
    """A configuration with a secret was refused. This is for what nobody checks, such as settings of Hydra's own."""
    return without_secrets(text)


def _without_hydra(config: DictConfig) -> DictConfig:
    """One with the same nodes, which belong to it from now on; the node `hydra` of the other one still finds them."""
    task = OmegaConf.create()
    with flag_override(task, "no_deepcopy_set_nodes", True):
        for name in config:
            if name != "hydra":
                task[name] = config._get_node(name)
    OmegaConf.set_struct(task, OmegaConf.is_struct(config))
    return task


def _set_all(config: DictConfig, values: Sequence[Override]) -> None:
    for override in values:
        OmegaConf.update(config, override.key_or_group, override.value(), merge=True)


def _unresolved(config: DictConfig) -> dict[str, Json]:
    plain: Json = OmegaConf.to_container(config, enum_to_str=True)
    return dict(plain)


def _sources(config: Mapping[str, Json]) -> dict[str, set[str]]:
    """For each name at the top, those whose values it may take, itself among them: what interpolations below it name,
    and what theirs do. All, where an interpolation is not so plain that this can be told.
    """
    sources: dict[str, set[str]] = {}
    for name, part in config.items():
        text = repr(part)
        named = _REFERENCE.findall(text)
        sources[name] = {name, *named} if len(named) == text.count("${") else set(config)
    for between in sources:  # Warshall's transitive closure
        for own in sources.values():
            if between in own:
                own |= sources[between]
    return sources


def _changed(config: dict[str, Json], place: Sequence[str], value: Json) -> dict[str, Json]:
    """A copy with another value at a place; what does not change is shared."""
    name, *below = place
    return {**config, name: _changed(config[name], below, value) if below else value}


def _value_at(config: DictConfig, key: str) -> Json:
    """The plain value at a dotted key, an interpolation as it is written; `_NO_VALUE` where there is none."""
    node: Json = config
    for name in key.split("."):
        node = node._get_node(name) if isinstance(node, DictConfig) and not node._is_none() else None
    return _NO_VALUE if node is None or OmegaConf.is_config(node) else node._value()
