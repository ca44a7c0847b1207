"""Packages that this process may import because a user named them.

Results, stores and exported folders name packages too, but may come from anyone. That is not a reason to import them.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

from components.errors import ConfigError
from components.fields import field_code
from components.json_value import Json
from runner.console.own_packages import add_working_directory

VARIABLE = "RAG_GRID_PLUGINS"
"""Environment variable that names trusted packages, separated by commas, for all commands of a project."""

OPTION = "--plugins"
OURS = ("components", "runner.engine.executors")
"""Packages with the components and executors of this project."""

_SCRIPT = "rag-grid-analysis"
_ROOT = Path(__file__).resolve().parents[3]
_named: dict[str, None] = {}


def trust(packages: Iterable[str]) -> None:
    """Allow this process to import the packages when results name them. Raises ConfigError for an invalid name."""
    for name in packages:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ConfigError([f"{OPTION}: got {name!r}, expected names of packages, e.g. {OPTION} my_package"])
        _named[name] = None


def list_trusted() -> tuple[str, ...]:
    """Return the packages named to this process by `trust` and by the environment."""
    named_packages = (name.strip() for name in os.environ.get(VARIABLE, "").split(","))
    names = tuple(dict.fromkeys((*_named, *filter(None, named_packages))))
    if names:
        add_working_directory()
    return names


def select_trusted(names: Iterable[str]) -> tuple[str, ...]:
    """Return the packages of a stored configuration that are trusted or within a trusted package."""
    known = list_trusted()
    return tuple(name for name in names if is_within(f"{name}.", known))


def is_within(target: object, packages: Iterable[str]) -> bool:
    """Return True if a dotted path is in one of the packages."""
    return isinstance(target, str) and target.startswith(tuple(f"{name}." for name in packages))


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--plugins` to a command that reads results. The packages are trusted as soon as it is parsed."""
    parser.add_argument(
        OPTION,
        action=_Trust,
        metavar="PACKAGE",
        help=f"your packages that may be imported, separated by commas (default: ${VARIABLE})",
    )


class _Trust(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        try:
            trust(name.strip() for name in str(values).split(","))
        except ConfigError as error:
            parser.error(str(error))


def foreign_targets(node: Json, place: str, plugins: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the code of packages that are neither ours nor in `plugins`, with the configuration path that names it.
    Imports nothing.

    Yields (place, name of the code).
    """
    if isinstance(node, Mapping):
        target = node.get("_target_")
        if target is not None and not is_within(target, (*OURS, *plugins)):
            yield f"{place}._target_".lstrip("."), str(target)
        for name, value in node.items():
            yield from foreign_targets(value, f"{place}.{name}".lstrip("."), plugins)
    elif isinstance(node, list | tuple):
        for number, value in enumerate(node):
            yield from foreign_targets(value, f"{place}[{number}]", plugins)


def code_of_fields(node: Json, place: str) -> Iterator[str]:
    """Yield the code that fields of our components name in a configuration, with the path of the field.

    See `components.fields.code_metadata`. Imports only components of this project.
    """
    if isinstance(node, Mapping):
        yield from _code_of_component(node, place)
        for name, value in node.items():
            yield from code_of_fields(value, f"{place}.{name}".lstrip("."))
    elif isinstance(node, list | tuple):
        for number, value in enumerate(node):
            yield from code_of_fields(value, f"{place}[{number}]")


def _code_of_component(node: Mapping[str, Json], place: str) -> Iterator[str]:
    target = node.get("_target_")
    if not isinstance(target, str) or not is_within(target, OURS):
        return
    module, _, name = target.rpartition(".")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError):  # building the component reports the error
        return
    for field in fields(cls) if is_dataclass(cls) else ():
        value = node.get(field.name, field.default)
        if (runs := field_code(field)) and value:
            what = f"{runs} {value}" if isinstance(value, str) else runs
            yield f"{what} ({place}.{field.name})"


def require_trusted(nodes: Mapping[str, Json], where: str) -> None:
    """Raise ConfigError if the nodes of a stored configuration name code that no user named to this process."""
    targets = list(foreign_targets(nodes, "", list_trusted()))
    if targets:
        raise ConfigError([f"{where}: {place} names {target}; {trust_advice([target])}" for place, target in targets])


def trust_advice(targets: Iterable[str]) -> str:
    """Return the advice for code that results name."""
    packages = ",".join(dict.fromkeys(target.partition(".")[0] for target in targets))
    command = _command()
    quoted = shlex.quote(packages)  # results choose these names, and users copy the command
    again = f"{command} {OPTION} {quoted}" if command else f"analysis.load(..., plugins={packages.split(',')})"
    return (
        f"code that results name is not imported unless you allow it. If you trust it, name its package: {again}, or "
        f"set {VARIABLE}={quoted}"
    )


def _command() -> str:
    """Return the command of this process. "" for another program."""
    program = Path(sys.argv[0] if sys.argv else "")
    if program.name == _SCRIPT:
        return shlex.join([_SCRIPT, *sys.argv[1:]])
    module = program.parent if program.name == "__main__.py" else program.with_suffix("")
    if not module.is_relative_to(_ROOT):
        return ""
    return shlex.join(["python", "-m", ".".join(module.relative_to(_ROOT).parts), *sys.argv[1:]])
