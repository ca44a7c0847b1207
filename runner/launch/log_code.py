"""Checks the names in a configuration of Python's logging. Its handlers, formatters and filters may be any callable."""

import logging
import logging.handlers
from collections.abc import Iterator, Mapping, Sequence

from components.json_value import Json
from runner.engine.plugins.named_code import class_errors, remedy
from runner.engine.plugins.trusted_packages import is_within

SHIPPED: Mapping[str, frozenset[str]] = {
    "handlers": frozenset(
        {
            "logging.FileHandler",
            "logging.NullHandler",
            "logging.StreamHandler",
            "logging.handlers.RotatingFileHandler",
            "logging.handlers.TimedRotatingFileHandler",
        }
    ),
    "formatters": frozenset({"logging.Formatter", "colorlog.ColoredFormatter"}),
    "filters": frozenset({"logging.Filter"}),
}
"""Classes that a configuration may name without `run.plugins`, by section.

Handlers that send records elsewhere are not among them.
"""

_BASES: Mapping[str, type] = {
    "handlers": logging.Handler,
    "formatters": logging.Formatter,
    "filters": logging.Filter,
}
_STREAMS = ("ext://sys.stdout", "ext://sys.stderr")
_MAKERS = ("()", "class")
"""Keys that name a class. The first one may name any callable."""

_REFUSED = ("_target_", ".")
"""Keys that are refused. The second one sets attributes of the built object, such as the name of a file."""

_FILE = "filename"
_SUFFIX = ".log"
"""Neither a shell nor an interpreter runs a file with this suffix."""


def log_problems(settings: Json, path: str, plugins: Sequence[str]) -> Iterator[str]:
    """Yield one message per error in a resolved node such as `hydra.job_logging`. A node that sets up nothing has no
    errors.
    """
    yield from _value_problems(settings, path, 0)
    if not isinstance(settings, Mapping):
        return
    for section, shipped in SHIPPED.items():
        nodes = settings.get(section)
        for name, node in nodes.items() if isinstance(nodes, Mapping) else ():
            node_path = f"{path}.{section}.{name}"
            for key in _MAKERS:
                if isinstance(node, Mapping) and key in node:
                    yield from _maker_problems(node[key], f"{node_path}.{key}", section, shipped, plugins)
            if isinstance(node, Mapping) and not str(node.get(_FILE, _SUFFIX)).endswith(_SUFFIX):
                yield f"{node_path}.{_FILE}: got {node[_FILE]!r}, expected a name that ends in {_SUFFIX}"


def _maker_problems(
    target: Json, path: str, section: str, shipped: frozenset[str], plugins: Sequence[str]
) -> Iterator[str]:
    if target in shipped:
        return
    if is_within(target, plugins):
        yield from class_errors(target, path, _BASES[section])
        return
    known = ", ".join(sorted(shipped))
    yield f"{path}: got {target!r}, expected {known}, or a class of a package that run.plugins names{remedy(target)}"


def _value_problems(value: Json, path: str, depth: int) -> Iterator[str]:
    """Yield messages for names of objects (`ext://`, `cfg://`), and for keys that name a class outside a section."""
    if isinstance(value, str) and value.startswith(("ext://", "cfg://")) and value not in _STREAMS:
        yield f"{path}: got {value!r}, expected {' or '.join(_STREAMS)}"
    if isinstance(value, Mapping):
        for key, below in value.items():
            if key in _REFUSED or (key in _MAKERS and depth != _DEPTH_OF_NODES):
                yield f"{path}.{key}: logging builds nothing here. Remove it."
            yield from _value_problems(below, f"{path}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _value_problems(below, f"{path}[{number}]", depth + 1)


_DEPTH_OF_NODES = 2
"""Depth of a node such as `handlers.console`, below the node that is checked."""
