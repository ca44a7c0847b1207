"""Refuses code and secrets in Hydra's nodes, before Hydra imports the code or names a folder after the secret.

Hydra builds callbacks, launchers and sweepers from `_target_`, and log handlers from `class` and `()`. A configuration
may name our classes, classes that Hydra ships, and classes of packages in `run.plugins`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from components.json_value import Json
from components.secrets.configured_secrets import misplaced_secrets, named_variables
from components.secrets.known import mark_variable
from runner.engine.plugins.named_code import class_errors, remedy, top_package
from runner.engine.plugins.trusted_packages import is_within
from runner.launch.log_code import log_problems

_BASIC_SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
"""Hydra inserts this sweeper for our programs that run no cells."""

SHIPPED: Mapping[str, frozenset[str]] = {
    "launcher": frozenset(
        {
            "hydra_plugins.rag_grid.GridLauncher",
            "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
            "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher",
        }
    ),
    "sweeper": frozenset(
        {
            "hydra_plugins.rag_grid.GridSweeper",
            _BASIC_SWEEPER,
        }
    ),
    "callbacks": frozenset({"hydra.experimental.callbacks.LogJobReturnCallback"}),
}
"""Classes that a configuration may name without `run.plugins`, by Hydra's node."""

_REFUSED_PLUGINS: Mapping[str, str] = {
    "sweeper": (
        "a plugin's sweeper, which chooses each batch of cells by the results of the previous batch; cells here "
        "return no number. Leave hydra/sweeper out and add search=tpe, or list the values of each axis: "
        "chunk.size=64,128. For one change at a time, add hydra.sweeper.one_at_a_time=true."
    ),
    "launcher": (
        "a plugin's launcher, which starts a process for each cell, though cells share most of their work. Use "
        "executor=slurm or executor=ray instead. To try it anyway add run.plugins=[hydra_plugins]"
    ),
}
"""Reasons to refuse third-party plugins of Hydra, by Hydra's node."""

LOGS = ("hydra_logging", "job_logging")
_GUARDED = (*SHIPPED, *LOGS)

_OUTPUT_DIR_REFERENCE = "${hydra.runtime.output_dir}"
"""The only value that Hydra sets after composition and that its logging refers to: an absolute path."""

_MADE_BY_HYDRA = ("runtime", "overrides")
"""Nodes that Hydra fills, not a configuration. The overrides were searched for secrets before."""

_MAX_NESTING = 50


def require_known_code(config: DictConfig) -> None:
    """Check the node `hydra` of a composed configuration.

    Interpolations in the checked nodes are replaced by their values, so that Hydra builds the checked classes.
    Variables that the configuration names for API keys count as secrets from now on. Raises HydraException with every
    error. If a node contains a secret, only secrets are reported, because other errors quote values.
    """
    _mark_variables(config)
    if secrets := list(_secret_problems(config)):
        raise HydraException(str(ConfigError(secrets)))
    plugins = _read_plugins(config)
    problems = [problem for name in _GUARDED for problem in _find_problems(config, name, plugins)]
    problems += _variable_problems(config)
    problems += [] if problems else _unlimited_sweepers(config)
    if "_target_" in config.hydra:
        problems.append("hydra._target_: Hydra builds nothing here. Remove it.")
    for name in config.hydra:
        if name not in _GUARDED:
            problems += _stray_targets(config.hydra._get_node(name), f"hydra.{name}")
    if problems:
        raise HydraException(str(ConfigError(problems)))


def _mark_variables(config: DictConfig) -> None:
    """Treat the variables that the configuration names for API keys as secrets. Axes of a preset, in the sweeper's
    node, may name some too.
    """
    nodes = [config._get_node(name) for name in config if name != "hydra"]
    for variable in named_variables([_raw_value(node) for node in (*nodes, config.hydra._get_node("sweeper"))]):
        mark_variable(variable)


def _raw_value(node: Any) -> Json:
    """Return the value without resolving interpolations. `OmegaConf.to_container` is many times slower."""
    content = None if node is None else node._value()
    if isinstance(content, dict):
        return {str(key): _raw_value(below) for key, below in content.items()}
    return [_raw_value(below) for below in content] if isinstance(content, list) else content


def _secret_problems(config: DictConfig) -> Iterator[str]:
    """Yield error messages for secrets. Folders, log files and help texts are named after values of these nodes.

    An interpolation may read an environment variable into a node.
    """
    reader = _Reader()
    nodes = [name for name in config.hydra if name not in _MADE_BY_HYDRA]
    plain = {name: reader.plain(config.hydra._get_node(name), f"hydra.{name}") for name in nodes}
    plain["job"] = {name: value for name, value in plain["job"].items() if name != "env_set"}  # checked by value below
    yield from misplaced_secrets(plain, path="hydra")


def _read_plugins(config: DictConfig) -> tuple[str, ...]:
    """Return the packages in `run.plugins`. () if the entry is malformed: building the cell reports that."""
    try:
        packages = OmegaConf.select(config, "run.plugins" if "run" in config else "plugins")
    except OmegaConfBaseException:
        return ()
    return tuple(name for name in packages if isinstance(name, str)) if isinstance(packages, ListConfig) else ()


def _find_problems(config: DictConfig, name: str, plugins: Sequence[str]) -> Iterator[str]:
    reader = _Reader()
    place = f"hydra.{name}"
    plain = reader.plain(config.hydra._get_node(name), place)
    yield from reader.problems
    if reader.problems:
        return
    if reader.has_resolved:
        with flag_override(config.hydra, ["struct", "readonly"], False):
            config.hydra[name] = plain
    if name in LOGS:
        yield from log_problems(plain, place, plugins)
        return
    is_of_several = name == "callbacks" and isinstance(plain, Mapping)
    nodes = {f"{place}.{key}": node for key, node in plain.items()} if is_of_several else {place: plain}
    for path, node in nodes.items():
        yield from _target_problems(node, path, name, plugins)


class _Reader:
    """Reads nodes as plain values, with interpolations resolved, and collects errors."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.has_resolved = False

    def plain(self, node: Any, place: str, depth: int = 0) -> Json:
        """Return the value. None if it is missing or was refused."""
        if node is None or node._is_none() or node._is_missing():
            return None
        if depth > _MAX_NESTING:
            self._refuse(place, "refers to itself. Write out the value.")
            return None
        if node._is_interpolation():
            return self._resolve(node, place, depth)
        if isinstance(node, DictConfig):
            return {str(key): self.plain(node._get_node(key), _child_path(place, key), depth + 1) for key in node}
        if isinstance(node, ListConfig):
            return [self.plain(node._get_node(i), f"{place}[{i}]", depth + 1) for i in range(len(node))]
        return node._value()

    def _resolve(self, node: Any, place: str, depth: int) -> Json:
        self.has_resolved = True
        text = str(node._value())
        try:
            referenced = node._dereference_node()
        except (OmegaConfBaseException, RecursionError):
            if not text.replace("${hydra:", "${hydra.").startswith(_OUTPUT_DIR_REFERENCE):
                self._refuse(
                    place, f"got {text!r}, which cannot be resolved before Hydra builds it. Write out the value."
                )
            return text
        value = self.plain(referenced, place, depth + 1)
        if isinstance(value, str) and "${" in value:
            self._refuse(place, f"got {text!r}, which resolves to another interpolation. Write out the value.")
        return value

    def _refuse(self, place: str, problem: str) -> None:
        self.problems.append(f"{place}: {problem}")


def _child_path(place: str, key: object) -> str:
    """Append a key to a configuration path. Keys may be numbers in YAML."""
    return f"{place}.{key}"


def _target_problems(node: Json, place: str, name: str, plugins: Sequence[str]) -> Iterator[str]:
    shipped = SHIPPED[name]
    if node is None:
        return
    if not isinstance(node, Mapping):
        yield f"{place}: got {node!r}, expected a mapping with a _target_"
        return
    for key, value in node.items():
        yield from _nested_targets(value, f"{place}.{key}")
    target = node.get("_target_")
    if target is None or target in shipped:
        return
    if (
        name in _REFUSED_PLUGINS
        and top_package(target) == "hydra_plugins"
        and not (name == "launcher" and is_within(target, plugins))
    ):
        yield f"hydra/{name}: got {target}, {_REFUSED_PLUGINS[name]}"
    elif not is_within(target, plugins):
        known = f"{', '.join(sorted(shipped))}, or a class of a package that run.plugins names"
        yield f"{place}._target_: got {target!r}, expected {known}{remedy(target)}"
    else:
        yield from class_errors(target, f"{place}._target_", _find_base(name))


def _unlimited_sweepers(config: DictConfig) -> list[str]:
    """Return an error message for Hydra's basic sweeper, which expands all cells before they are counted.

    Programs without an executor may use it, because they run no cells.
    """
    if "executor" not in config or config.hydra.sweeper.get("_target_") != _BASIC_SWEEPER:
        return []
    return [
        "hydra/sweeper: got basic, which does not limit the number of cells. Leave hydra/sweeper out: grid, the "
        "default, takes the same axes and stops at hydra.sweeper.max_cells"
    ]


def _find_base(name: str) -> type:
    """Return the base class that a custom class for one of Hydra's nodes must extend.

    Imported late, because Hydra reloads its plugins.
    """
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.experimental.callback import Callback
    from hydra.plugins.launcher import Launcher

    bases: Mapping[str, type] = {"callbacks": Callback, "launcher": Launcher, "sweeper": BasicSweeper}
    return bases[name]


def _nested_targets(value: Json, place: str) -> Iterator[str]:
    for key, below in _items(value):
        if key == "_target_":
            yield f"{place}._target_: got {below!r}; Hydra builds nothing else within this node. Remove it."
        yield from _nested_targets(below, f"{place}.{key}")


def _items(value: Json) -> Iterator[tuple[object, Json]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def _stray_targets(node: Any, place: str) -> Iterator[str]:
    """Yield one message per `_target_` in nodes of Hydra that build nothing."""
    if node is None or node._is_none() or node._is_missing() or node._is_interpolation():
        return
    if isinstance(node, DictConfig):
        if "_target_" in node:
            yield f"{place}._target_: Hydra builds nothing here. Remove it."
        for key in node:
            yield from _stray_targets(node._get_node(key), _child_path(place, key))
    elif isinstance(node, ListConfig):
        for number in range(len(node)):
            yield from _stray_targets(node._get_node(number), f"{place}[{number}]")


def _variable_problems(config: DictConfig) -> Iterator[str]:
    """Yield one message per environment variable that the configuration would change.

    PATH and PYTHONPATH decide which programs run. Variables in `env_copy` keep their values.
    """
    reader = _Reader()
    variables = reader.plain(config.hydra.job._get_node("env_set"), "hydra.job.env_set")
    yield from reader.problems
    for name, value in (variables or {}).items():
        if os.environ.get(name) != value:
            yield (
                f"hydra.job.env_set.{name}: a configuration cannot set environment variables, because they decide "
                f"which programs and libraries run. Set {name} in the shell that starts the command."
            )
