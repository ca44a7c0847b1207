"""Composes the configurations of a sweep's jobs, and writes their files.

A composition takes 20 ms, which is long for hundreds of cells. Jobs that choose the same options share one composition,
and the parts of it that their values do not change. Equal parts of their files are formatted once.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import filter_overrides
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, flag_override, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from components.json_value import Json
from components.secrets.mask import without_secrets
from runner.launch.axis_naming import fill_unset_fields, name_axes, plain_config, plain_part
from runner.launch.hydra_folders import job_folder
from runner.launch.overrides import unknown_key
from runner.pipeline.planned_cells import Job
from runner.results.cell_axes import parse_config_path, parse_override_key

CONFIG_FOLDER = ".hydra"
_NO_VALUE = object()
_REFERENCE = re.compile(r"\$\{(\w+)(?:\.[^:{}]*)?\}")
"""An interpolation of an absolute path, without a resolver or a nested interpolation."""


@dataclass(frozen=True)
class ComposedJob:
    """A job with its unresolved configuration as Hydra composed it, and its folder within the sweep's folder."""

    job: Job
    config: dict[str, Json]
    overrides: tuple[str, ...]
    folder: Path


class JobComposer:
    """Composes the jobs of a sweep. `master` is Hydra's configuration of the whole sweep."""

    def __init__(self, config_loader: ConfigLoader, master: DictConfig) -> None:
        self._config_loader = config_loader
        self._master = master
        self._parse = cache(OverridesParser.create().parse_override)
        self._composed: dict[tuple[str, ...], _Composition] = {}
        self._refused: set[tuple[str, ...]] = set()
        self._options_vary = False

    def compose_sweep(self, jobs: Sequence[Sequence[str]], *, each_value: bool = True) -> list[ComposedJob]:
        """Compose all jobs of a sweep. If their options vary, a field only applies to the jobs that have it.

        This also holds for jobs that are composed later. Raises HydraException or OmegaConfBaseException for an invalid
        override and for a key that applies to no job. With `each_value`, a value that applies to no job is an error
        too.
        """
        values: dict[str, set[str]] = {}
        for override in {override for job in jobs for override in job}:
            values.setdefault(parse_override_key(override), set()).add(override)
        self._options_vary = any(len(options) > 1 and "." not in key for key, options in values.items())
        composed = [self.compose(overrides, number) for number, overrides in enumerate(jobs)]
        applied = {override for job in composed for override in job.overrides}
        for override in dict.fromkeys(override for job in jobs for override in job if override not in applied):
            key = parse_override_key(override)
            if values[key].isdisjoint(applied):
                raise HydraException(f"Could not override '{key}'.")
            if each_value:
                group = parse_config_path(key).partition(".")[0]
                raise HydraException(
                    f"{override}: applies to no cell, because no {group} that it is combined with has this field"
                )
        return composed

    def compose(self, overrides: Sequence[str], number: int) -> ComposedJob:
        """Compose job `number`. Raises HydraException or OmegaConfBaseException for an invalid override."""
        overrides = self._select_applicable(overrides)
        parsed = [self._parse(override) for override in overrides]
        values = [override for override in parsed if self._sets_value(override)]
        try:
            composition = self._composition([str(each.input_line) for each in parsed if not self._sets_value(each)])
            plain, unresolved = composition.with_values(values)
        except (HydraException, OmegaConfBaseException):  # all overrides in the given order may be valid
            composition = self._composition(overrides)
            plain, unresolved = composition.with_values([])
        task_overrides = tuple(filter_overrides(overrides))
        job = Job(plain, name_axes(plain, composition.choices, task_overrides), task_overrides)
        return ComposedJob(job, unresolved, tuple(overrides), composition.folder_of(parsed, number))

    def _select_applicable(self, overrides: Sequence[str]) -> Sequence[str]:
        """Return the overrides that apply to the options of this job."""
        parsed = [self._parse(override) for override in overrides]
        conditional = [each for each in parsed if self._is_conditional(each)]
        if not conditional:
            return overrides
        inapplicable: set[str] = set()
        options = [str(each.input_line) for each in parsed if not self._sets_value(each) and each not in conditional]
        for each in conditional:
            line = str(each.input_line)
            if not self._sets_value(each):
                if self._has_places([*options, line]):
                    options.append(line)
                else:
                    inapplicable.add(line)
        for each in conditional:
            if self._sets_value(each) and not self._composition(options).has(each.key_or_group):
                inapplicable.add(str(each.input_line))
        return [override for override in overrides if override not in inapplicable]

    def _is_conditional(self, override: Override) -> bool:
        """Return True if an override sets something within a node, which other options may not have."""
        is_plain = not (override.is_add() or override.is_force_add() or override.is_delete())
        return self._options_vary and is_plain and "." in (override.package or override.key_or_group)

    def _has_places(self, options: Sequence[str]) -> bool:
        """Return True if Hydra can compose these options, because each sets a key that exists.

        Raises HydraException for other errors.
        """
        key = tuple(options)
        if key not in self._refused:
            try:
                self._composition(options)
            except HydraException as error:
                if not unknown_key(str(error)):
                    raise
                self._refused.add(key)
        return key not in self._refused

    def find_current_value(self, key: str, options: Sequence[str]) -> Json:
        """Return the field's value in the first of these options that has the field; None if no option has it."""
        for option in options:
            with suppress(HydraException):  # an unknown option is an error of the job that chooses it
                if self._composition([option]).has(key):
                    return self._composition([option]).value(key)
        return None

    def _composition(self, options: Sequence[str]) -> "_Composition":
        key = tuple(options)
        if key not in self._composed:
            is_whole_sweep = key == self._options_of_sweep  # no axis chooses options: Hydra has composed it already
            config = copy.deepcopy(self._master) if is_whole_sweep else self._compose_by_hydra(options)
            self._composed[key] = _Composition(config)
        return self._composed[key]

    def _compose_by_hydra(self, options: Sequence[str]) -> DictConfig:
        config: DictConfig = self._config_loader.load_sweep_config(self._master, list(options))
        return config

    @cached_property
    def _options_of_sweep(self) -> tuple[str, ...]:
        task_overrides: Json = OmegaConf.to_container(self._master.hydra.overrides.task)
        parsed = map(self._parse, task_overrides)
        return tuple(str(each.input_line) for each in parsed if not self._sets_value(each))

    def _sets_value(self, override: Override) -> bool:
        """Return True if an override only sets a value, as "a.b=value" and "top_k=value" do.

        Overrides that choose an option, add or remove something do not. A key with dots is not a group, and neither is
        a key with a plain value in the configuration.
        """
        if override.is_add() or override.is_force_add() or override.is_delete() or override.package is not None:
            return False
        key = override.key_or_group
        return "/" not in key and ("." in key or self._is_plain(key))

    def _is_plain(self, key: str) -> bool:
        return key in self._master and not OmegaConf.is_config(self._master._get_node(key))


class _Composition:
    """A configuration that Hydra composed for some options.

    It changes the given configuration, because a copy would take a sixth of the time of a composition.
    """

    def __init__(self, config: DictConfig) -> None:
        self._hydra = config.hydra
        self._task = _take_task_nodes(config)
        fill_unset_fields(self._task)
        self.choices: Json = OmegaConf.to_container(config.hydra.runtime.choices)
        self._parts: dict[tuple[str, tuple[str, ...]], Json] = {}

    def has(self, key: str) -> bool:
        """Return True if a dotted key exists."""
        node: Json = self._task
        for name in key.split("."):
            node = (
                node._get_node(name, validate_access=False)
                if isinstance(node, DictConfig) and not node._is_none()
                else None
            )
        return node is not None

    def value(self, key: str) -> Json:
        """Return the plain value at a dotted key that exists."""
        return _get_value(self._task, key)

    def with_values(self, values: Sequence[Override]) -> tuple[dict[str, Json], dict[str, Json]]:
        """Return the configuration with these values, resolved and unresolved. Raises OmegaConfBaseException for a
        value or interpolation that OmegaConf rejects.

        Values are set in place and restored, which takes a tenth of the time of a copy. If nodes of a mapping appear or
        disappear, a copy is used.
        """
        old_values = [(override.key_or_group, _get_value(self._task, override.key_or_group)) for override in values]
        if any(old_value is _NO_VALUE for _, old_value in old_values) or any(
            isinstance(each.value(), dict) for each in values
        ):
            copied = copy.deepcopy(self._task)
            _set_all(copied, values)
            return plain_config(copied), _unresolved_config(copied)
        unresolved = self._plain_task
        try:
            _set_all(self._task, values)
            resolved = self._resolve(values)
        finally:
            for key, old_value in old_values:
                OmegaConf.update(self._task, key, old_value)
        for override in values:
            unresolved = _replace_value(unresolved, override.key_or_group.split("."), override.value())
        return resolved, unresolved

    def _resolve(self, values: Sequence[Override]) -> dict[str, Json]:
        """Resolve the configuration with the current values.

        A part is resolved once for all jobs that set the same values among its sources.
        """
        if any("${" in override.input_line for override in values):
            return plain_config(self._task)
        resolved: dict[str, Json] = {}
        for name, sources in self._sources.items():
            reaching = tuple(each.input_line for each in values if each.key_or_group.partition(".")[0] in sources)
            if (name, reaching) not in self._parts:
                self._parts[name, reaching] = plain_part(self._task, name)
            resolved[name] = self._parts[name, reaching]
        return resolved

    @cached_property
    def _sources(self) -> dict[str, set[str]]:
        return _sources(self._plain_task)

    @cached_property
    def _plain_task(self) -> dict[str, Json]:
        return _unresolved_config(self._task)

    def folder_of(self, overrides: list[Override], number: int) -> Path:
        """Return the folder of a job, `hydra.sweep.subdir`, and Hydra's folder in it. Raises ConfigError for a place
        outside the sweep.
        """
        job = self._hydra.job
        with read_write(job), open_dict(job):
            job.override_dirname = _override_dirname(overrides, **self._dirname_settings)
            job.id, job.num = str(number), number
        return job_folder(str(self._hydra.sweep.subdir)) / CONFIG_FOLDER

    @cached_property
    def _dirname_settings(self) -> Json:
        return OmegaConf.to_container(self._hydra.job.config.override_dirname)


def _override_dirname(overrides: Sequence[Override], kv_sep: str, item_sep: str, exclude_keys: Sequence[str]) -> str:
    """Return `hydra.job.override_dirname` as Hydra defines it. Hydra 1.3 and 1.4 compute it in different places."""
    lines = sorted(str(each.input_line) for each in overrides if each.key_or_group not in exclude_keys)
    return item_sep.join(lines).replace("=", kv_sep)


def composed_job(config: DictConfig, job: Job, folder: Path) -> ComposedJob:
    """Return a job that Hydra itself composed."""
    overrides: Json = OmegaConf.to_container(config.hydra.overrides.task)
    unresolved = {name: node for name, node in _unresolved_config(config).items() if name != "hydra"}
    return ComposedJob(job, unresolved, tuple(overrides), folder)


def write_sweep_jobs(master: DictConfig, jobs: Sequence[ComposedJob], sweep_dir: Path) -> None:
    """Write the files that Hydra would write for a sweep: multirun.yaml, and the files of each job."""
    write_jobs(jobs, sweep_dir)
    (sweep_dir / "multirun.yaml").write_text(_mask(OmegaConf.to_yaml(master)), encoding="utf-8")


def write_jobs(jobs: Sequence[ComposedJob], sweep_dir: Path) -> None:
    """Write the files that Hydra would write for each job: its configuration and its overrides.

    We write them only after the jobs were accepted.
    """
    texts: dict[str, str] = {}
    for job in jobs:
        folder = sweep_dir / job.folder
        folder.mkdir(parents=True, exist_ok=True)
        config = [_yaml({name: node}, texts) for name, node in job.config.items()]
        (folder / "config.yaml").write_text("".join(config), encoding="utf-8")
        overrides = [_yaml([override], texts) for override in job.overrides]
        (folder / "overrides.yaml").write_text("".join(overrides), encoding="utf-8")


def _yaml(part: dict[str, Json] | list[str], texts: dict[str, str]) -> str:
    """Format a part as OmegaConf does. `texts` caches the parts that were formatted before."""
    key = repr(part)
    if key not in texts:
        texts[key] = _mask(OmegaConf.to_yaml(OmegaConf.create(part)))
    return texts[key]


def _mask(text: str) -> str:
    """Mask secrets in settings that no check covers, such as Hydra's. Secrets in other settings were refused before."""
    return without_secrets(text)


def _take_task_nodes(config: DictConfig) -> DictConfig:
    """Return a configuration that takes over all nodes except `hydra`, which can still refer to them."""
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


def _unresolved_config(config: DictConfig) -> dict[str, Json]:
    plain: Json = OmegaConf.to_container(config, enum_to_str=True)
    return dict(plain)


def _sources(config: Mapping[str, Json]) -> dict[str, set[str]]:
    """Map each top-level name to the names that its value may depend on, including itself.

    Follows interpolations transitively. A name with a complex interpolation may depend on all names.
    """
    sources: dict[str, set[str]] = {}
    for name, part in config.items():
        text = repr(part)
        named = _REFERENCE.findall(text)
        sources[name] = {name, *named} if len(named) == text.count("${") else set(config)
    for between in sources:  # Warshall's transitive closure
        for names in sources.values():
            if between in names:
                names |= sources[between]
    return sources


def _replace_value(config: dict[str, Json], path: Sequence[str], value: Json) -> dict[str, Json]:
    """Return a copy with another value at a place. Unchanged parts are shared."""
    name, *below = path
    return {**config, name: _replace_value(config[name], below, value) if below else value}


def _get_value(config: DictConfig, key: str) -> Json:
    """Return the plain value or list at a dotted key, interpolations unresolved; `_NO_VALUE` if there is none."""
    node: Json = config
    for name in key.split("."):
        node = node._get_node(name) if isinstance(node, DictConfig) and not node._is_none() else None
    if isinstance(node, ListConfig):
        return OmegaConf.to_container(node)
    return _NO_VALUE if node is None or OmegaConf.is_config(node) else node._value()
