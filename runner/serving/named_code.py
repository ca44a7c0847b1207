"""Code that an exported folder names: packages that are not ours, programs, and code of models. The folder may be
anybody's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module

from components.errors import ConfigError
from components.fields import what_runs
from components.json_value import Json
from runner.serving.description import Description
from runner.trusted import OURS, foreign_targets


def code_in(description: Description) -> list[str]:
    """The code that answering runs besides ours, each with the place that names it; [] for none. Imports our own
    components alone.
    """
    foreign = foreign_targets(description.components, "", ())
    return [*(f"{target} ({place})" for place, target in foreign), *_of_fields(description.components, "")]


def require_trust(description: Description, folder: str, *, trust: bool) -> None:
    """Raises ConfigError for a folder that runs other code than ours, unless it is trusted."""
    found = code_in(description)
    if found and not trust:
        raise ConfigError(
            [
                f"{folder}: answering runs {each}; if you trust who wrote the folder, say so: "
                "load_pipeline(FOLDER, trust=True), or python pipeline.py --trust"
                for each in found
            ]
        )


def _of_fields(node: Json, place: str) -> Iterator[str]:
    if isinstance(node, Mapping):
        yield from _named_by(node, place)
        for name, value in node.items():
            yield from _of_fields(value, f"{place}.{name}".lstrip("."))
    elif isinstance(node, list | tuple):
        for number, value in enumerate(node):
            yield from _of_fields(value, f"{place}[{number}]")


def _named_by(node: Mapping[str, Json], place: str) -> Iterator[str]:
    target = node.get("_target_")
    if not isinstance(target, str) or not target.startswith(_OUR_PREFIXES):
        return
    module, _, name = target.rpartition(".")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError):  # building it says so
        return
    for field in fields(cls) if is_dataclass(cls) else ():
        value = node.get(field.name, field.default)
        if (runs := what_runs(field)) and value:
            what = f"{runs} {value}" if isinstance(value, str) else runs
            yield f"{what} ({place}.{field.name})"


_OUR_PREFIXES = tuple(f"{root}." for root in OURS)
