"""The lists of docs/ that must be complete: commands and kinds of stages."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import runner.pipeline
from analysis.__main__ import COMMANDS
from runner.engine.stage import Stage

ROOT = Path(__file__).resolve().parent.parent
SENTENCE_END = re.compile(r"(?<=[.:]) (?=[A-Z`])")


def stages_below(cls: type) -> Iterator[type]:
    subclass: type
    for subclass in cls.__subclasses__():
        if getattr(subclass, "kind", ""):
            yield subclass
        yield from stages_below(subclass)


def summary(cls: type) -> str:
    """Return the first sentence of the docstring of a class, on one line."""
    return SENTENCE_END.split(" ".join((cls.__doc__ or "").split()))[0].rstrip(".")


def test_commands_page_lists_every_command() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `python -m ([\w. ]+)` \|", page, re.MULTILINE)
    ours = [path.stem for path in (ROOT / "runner").glob("*.py") if path.stem not in {"__init__", "__main__"}]
    assert listed == [
        "runner",
        *sorted(f"runner.{name}" for name in ours),
        *sorted(f"analysis {one}" for one in COMMANDS),
    ]


def test_stage_kinds_page_lists_every_kind_with_its_summary() -> None:
    """To write the table again, print `summary` for each kind."""
    for module in pkgutil.walk_packages(runner.pipeline.__path__, "runner.pipeline."):
        importlib.import_module(module.name)
    page = (ROOT / "docs" / "stage-kinds.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    ours = [cls for cls in stages_below(Stage) if cls.__module__.startswith("runner.pipeline.")]
    assert len(listed) > 100
    assert dict(listed) == {cls.kind: summary(cls) for cls in ours}  # type: ignore[attr-defined]
