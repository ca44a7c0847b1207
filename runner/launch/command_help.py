"""The help of `python -m runner`. It imports neither Hydra nor a component, so that it appears immediately."""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from runner.console.documentation import docs_note
from runner.launch.option_names import option_names

_WIDTH = 80
_OPTIONS_FROM = 47
"""Column at which the options of a group begin."""

_FIRST = ("dataset", "language")
"""Groups at the top of the help. `config.yaml` composes them last."""

SHOWN_FIRST = {
    "dataset": ("demo_en", "jsonl"),
    "refiner": ("dedupe",),
    "chunk": ("token", "parents"),
    "embedder": ("openai",),
    "vector_index": ("hnsw",),
    "expander": ("none", "rewrite"),
    "retriever": ("bm25", "dense"),
    "reranker": ("cross_encoder",),
    "llm": ("openai", "ollama"),
    "reviser": ("reflect",),
    "metrics": ("retrieval",),
    "judge": ("faithfulness",),
    "sweeps": ("smoke", "grid"),
}
"""Options that the help shows after the default of a group with many."""

_TEMPLATE = """\
usage: python -m runner [-m] [group=option ...] [key=value ...]

Run one pipeline (a cell), or with -m every combination of values (a sweep).
To resume a sweep, run the same command again.

configuration groups (default first; all: docs/axes.md, docs/models.md):
{groups}
settings and more help (--version prints the version):
  'llm=?'               options of a group
  top_k=2,8             chunks in a prompt
  repeat=0,1,2          several answers per prompt (judge_repeat: grades)
  --cfg job             all fields of a cell (--hydra-help: Hydra's own help)
  run.plan_only=true    show the plan and run nothing
  run.max_cost=5        stop before spending 5 in the currency of `prices`
examples (latest is the last sweep, best the cell to take):
  python -m runner -m dataset=demo_en retriever=bm25,hybrid top_k=2,8
  python -m analysis report latest && python -m analysis samples latest best
  python -m runner dataset=jsonl dataset.documents=DIR dataset.samples=FILE
More: docs/commands.md, docs/tutorial.md, docs/run-settings.md
"""


class Group(NamedTuple):
    """A configuration group with its default option and its purpose, from the comment of its line in `config.yaml`."""

    name: str
    default: str
    purpose: str


_DEFAULT = re.compile(r"^  - (\w+): (\w[\w.-]*) # ([^;\n]+)", re.MULTILINE)


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Return True if the command line asks for help, in any form that Hydra's parser accepts."""
    return any(argument in ("-h", "-mh", "--he", "--hel", "--help") for argument in arguments)


def command_help() -> str:
    """Return the help: groups with their options abbreviated, the first settings, and examples."""
    return _TEMPLATE.format(groups="\n".join(map(_line, list_groups()))) + docs_note()


def list_groups() -> list[Group]:
    """Return the configuration groups in the order of the help: the data, the pipeline, and all presets."""
    written = files("conf").joinpath("config.yaml").read_text(encoding="utf-8")
    groups = [Group(*found) for found in _DEFAULT.findall(written)]
    first = [group for name in _FIRST for group in groups if group.name == name]
    return [*first, *(group for group in groups if group not in first), Group("sweeps", "", "presets: -m +sweeps=NAME")]


def _line(group: Group) -> str:
    first = (group.default, *SHOWN_FIRST.get(group.name, ()))
    options = sorted(
        list_options(group.name), key=lambda option: first.index(option) if option in first else len(first)
    )
    return f"  {group.name:<13}{group.purpose:<{_OPTIONS_FROM - 15}}{_abbreviate(options, _WIDTH - _OPTIONS_FROM)}"


def _abbreviate(options: Sequence[str], n_columns: int) -> str:
    """Return the options that fit, with the number of all if some do not."""
    for n_shown in range(len(options), 0, -1):
        rest = "" if n_shown == len(options) else f", ... ({len(options)})"
        if len(text := ", ".join(options[:n_shown]) + rest) <= n_columns:
            return text
    return f"{len(options)} options"


def list_options(group: str) -> list[str]:
    """Return the names of our options of a group."""
    folder = files("sweeps") if group == "sweeps" else files("conf").joinpath(group)
    return option_names(folder)
