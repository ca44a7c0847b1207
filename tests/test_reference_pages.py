"""The lists of docs/ that must be complete: commands and kinds of stages."""

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import runner.pipeline
from analysis.__main__ import COMMANDS
from components.fields import is_runtime_only
from runner.engine.stage import Stage, StageGroup
from runner.pipeline.cell import Cell

ROOT = Path(__file__).resolve().parent.parent
SENTENCE_END = re.compile(r"(?<=[.:]) (?=[A-Z`])")


OPTIONS_OF_PARTS = {
    "AnswerMetric": "metrics",
    "AskedVariant": "expander",
    "AskingHeaderWriter": "header",
    "AskingRefinement": "refiner",
    "CitationMetric": "metrics",
    "ContextMetric": "metrics",
    "DescribingChunker": "chunk",
    "ExistingIndexArm": "retriever",
    "FactReader": "retriever",
    "Fusion": "retriever",
    "HeaderWriter": "header",
    "JudgedMetric": "judge",
    "Metric": "metrics",
    "PassageGraph": "retriever",
    "PickingArm": "retriever",
    "QueryVariant": "expander",
    "RankingMetric": "metrics",
    "ReadsTokens": "embedder retriever",
    "Refinement": "refiner",
    "Source": "dataset",
    "SparseIndex": "retriever",
    "TextForm": "metrics",
    "ThreeWayEncoder": "embedder",
    "TokenIndex": "retriever",
    "TokenVectorEncoder": "reranker retriever",
    "TokenWeigher": "retriever",
}
"""Options that choose a part of a component, by its protocol. The protocols of whole components are in the fields of
`Cell`, whose names are the options.
"""

OPTIONS_OF_FIELDS = {
    "depth": "retriever.depth",
    "documents_per_block": "run.documents_per_block",
    "draw": "repeat",
    "fingerprint": "dataset",
    "groups": "dataset.groups",
    "interval": "dataset.groups metrics",
    "merges": "context",
    "top_k": "top_k",
}
"""Options that set a field of a stage that is no component."""

OPTIONS_OF_KINDS = {
    ("block_samples", "content"): "dataset",
    ("chosen_rerankers", "metric"): "reranker",
    ("corpus", "content"): "dataset",
    ("cut_pairs", "reranker"): "reranker",
    ("judge_preparation", "n"): "judge",
    ("judge_preparation", "seed"): "judge",
    ("judged_scores", "draw"): "judge_repeat",
    ("judged_scores", "n"): "judge",
    ("judged_scores", "seed"): "judge",
    ("new_hits", "n"): "iterative",
    ("partition", "content"): "dataset",
    ("picked_hits", "n"): "retriever.depth top_k",
    ("prompt_pieces", "tokenizer"): "context",
    ("result", "depths"): "reranker",
    ("samples", "content"): "dataset",
    ("segments", "tokenizer"): "chunk",
    ("selection_split", "seed"): "reranker",
    ("selection_split", "share"): "reranker",
}
"""Options that set a field of one kind of stage, where the tables above do not say it."""

SET_BY_NO_OPTION = {"are_phrases", "joined_by", "n_earlier", "name", "rows"}
"""Fields that tell stages of one cell apart."""


def stages_below(cls: type) -> Iterator[type]:
    return (subclass for subclass in subclasses(cls) if getattr(subclass, "kind", ""))


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


def own_options(cls: Any) -> list[str]:
    """Return the options that set a field of a kind of stage, or of a group of stages that it reads together."""
    return sorted(set(options_of_fields(cls, cls.kind)))


def options_of_fields(owner: Any, kind: str) -> Iterator[str]:
    hints = get_type_hints(owner)
    for field in (field for field in dataclasses.fields(owner) if not is_runtime_only(field)):
        if option := OPTIONS_OF_KINDS.get((kind, field.name)) or OPTIONS_OF_FIELDS.get(field.name):
            yield from option.split()
            continue
        for part in parts_of(hints[field.name]):
            if issubclass(part, StageGroup):
                for group in filter(dataclasses.is_dataclass, [part, *subclasses(part)]):
                    yield from options_of_fields(group, kind)
            elif part.__module__.startswith("components.protocols."):
                yield from options_of_roles()[part.__name__].split()
            elif part in {bool, int, float} or issubclass(part, Enum):
                assert field.name in SET_BY_NO_OPTION, f"{kind}: no option for {owner.__name__}.{field.name}"


@cache
def options_of_roles() -> dict[str, str]:
    """Return the options that choose a component, by its protocol."""
    options = dict(OPTIONS_OF_PARTS)
    for option, annotation in get_type_hints(Cell).items():
        for part in parts_of(annotation):
            if part.__module__.startswith("components.protocols."):
                options[part.__name__] = option
    return options


def subclasses(cls: type) -> Iterator[type]:
    subclass: type
    for subclass in cls.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def parts_of(annotation: Any) -> Iterator[type]:
    """Yield the classes in a type, but nothing of the stages, whose options belong to their own kinds."""
    origin = get_origin(annotation) or annotation
    if isinstance(origin, type) and issubclass(origin, Stage):
        return
    if get_args(annotation):
        for argument in get_args(annotation):
            yield from parts_of(argument)
    elif isinstance(annotation, type):
        yield annotation


def stage_kinds() -> list[Any]:
    """Return the classes of all kinds of stages."""
    for module in pkgutil.walk_packages(runner.pipeline.__path__, "runner.pipeline."):
        importlib.import_module(module.name)
    return [cls for cls in stages_below(Stage) if cls.__module__.startswith("runner.pipeline.")]


def row(cls: Any) -> str:
    """Return the row of the page for a kind of stage. Print it for each kind to write the tables again."""
    in_the_plan = cls.display_name or cls.kind.replace("_", " ")
    options = ", ".join(f"`{option}`" for option in own_options(cls))
    return f"| `{cls.kind}` | {in_the_plan} | {summary(cls)} | {options} |".replace("|  |", "| |")


def test_stage_kinds_page_lists_every_kind_with_its_row() -> None:
    page = (ROOT / "docs" / "stage-kinds.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `\w+` \| .+ \|$", page, re.MULTILINE)
    assert len(listed) > 100
    assert sorted(listed) == sorted(map(row, stage_kinds()))


@pytest.mark.parametrize("option", sorted({*" ".join(options_of_roles().values()).split()}))
def test_options_of_components_are_configuration_groups(option: str) -> None:
    assert (ROOT / "conf" / option).is_dir()


def test_compare_prints_the_highest_documented_false_rate() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "analysis").glob("*.py"))
    (printed,) = re.findall(r'^_MAX_FALSE_RATE = "([\d.]+)"$', sources, re.MULTILINE)
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    section = page.split("\n## Tests and intervals\n")[1].split("\n### ")[0]
    without_bound = re.findall(r"^\| [^|]+ \| ([^|]+) \| none \|$", section, re.MULTILINE)
    rates = [float(rate) for cell in without_bound for rate in re.findall(r"0\.\d+", cell)]
    assert len(rates) > 3
    assert f"{max(rates):.2f}" == printed
