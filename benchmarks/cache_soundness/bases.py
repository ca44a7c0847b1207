"""A cell for every option of every group in conf/, over the tiny data set."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf.errors import OmegaConfBaseException

from benchmarks.cache_soundness import tiny
from benchmarks.cache_soundness.changes import is_model_free
from components.errors import ConfigError, RagGridError
from runner.launch import grid_launcher
from runner.launch.composed_jobs import JobComposer
from runner.launch.hydra_state import isolate_hydra
from runner.pipeline.building import build_cell
from runner.pipeline.cell import Cell

REPLY = (
    '{"reason": "so it is", "texts": ["bridge and river"], "ranking": [2, 1], "grade": 1, "applicable": true, '
    '"answer": "{question} [1]", "relevant": true, "score": 3}'
)
"""A reply that every component can parse, and that quotes the question."""

COMMON = (
    "language=en",
    "embedder=hashing",
    "llm=scripted",
    "metrics=cited",
    "metrics.interval.n_resamples=100",
    "tracking=none",
    "run.progress=false",
)

_NEEDS = {
    ("dataset", "demo"): ("language=zh", "dataset.limit=3"),
    ("dataset", "demo_en"): ("dataset.limit=3",),
    ("dataset", "part"): ("dataset@dataset.of=jsonl",),
    ("examples", "held_out"): ("dataset=part", "dataset@dataset.of=jsonl", "examples.n=1"),
    ("examples", "from_dataset"): ("dataset@examples.dataset=jsonl", "examples.n=1"),
}
"""Further overrides that give an option something to do."""

_NO_PART_OF_A_RESULT = frozenset({"executor", "prices", "tracking"})


def base_cell(folder: Path, *overrides: str) -> Cell:
    """Return the cell of these overrides over the data set in a folder. Raises RagGridError."""
    words = _last_overrides([*tiny.overrides(folder), *COMMON, *overrides])
    reply = [f"llm.reply='{REPLY}'"] if "llm=scripted" in words else []
    try:
        config = _composer().compose([*words, *reply], 0).job.config
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError([str(error)]) from error
    return build_cell(config)


@cache
def _composer() -> JobComposer:
    """Return one composer for all cells: composing a hundred cells again takes minutes."""
    grid_launcher.register()
    with isolate_hydra() as hydra:
        loader = hydra.config_loader
        return JobComposer(loader, loader.load_configuration("config", [], RunMode.MULTIRUN))


def _last_overrides(overrides: Sequence[str]) -> list[str]:
    """Return the last override of each key, without fields of a data set that another one replaces."""
    last = {word.partition("=")[0]: word for word in overrides}
    others = not last["dataset"].endswith("=jsonl")
    return [word for key, word in last.items() if not (others and key in ("dataset.documents", "dataset.samples"))]


def options() -> list[tuple[str, str]]:
    """Return every option of every group that can change a result, sorted."""
    conf = files("conf")
    found = []
    for group in sorted(conf.iterdir(), key=lambda each: each.name):
        if group.is_dir() and group.name not in _NO_PART_OF_A_RESULT and not group.name.startswith(("_", ".")):
            names = [each.name.removesuffix(".yaml") for each in group.iterdir() if each.name.endswith(".yaml")]
            found += [(group.name, name) for name in sorted(names)]
    return found


def bases(folder: Path) -> tuple[dict[str, Cell], dict[str, str]]:
    """Return cells by option, and for options without a cell the reason: they need a model, a server or other data."""
    cells: dict[str, Cell] = {}
    without: dict[str, str] = {}
    for group, name in options():
        option = f"{group}={name}"
        try:
            cell = _build_cell(folder, group, name)
        except RagGridError as error:
            without[option] = str(error).strip().splitlines()[-1]
            continue
        if is_model_free(cell):
            cells[option] = cell
        else:
            without[option] = "loads a model or asks a server"
    return cells, without


def _build_cell(folder: Path, group: str, name: str) -> Cell:
    """Return the cell of an option, with a scripted model instead of one behind a server. Raises RagGridError."""
    own = [f"{group}={name}", *_NEEDS.get((group, name), ())]
    for place in ("dataset.of", "examples.dataset"):
        if f"dataset@{place}=jsonl" in own:
            own += [f"{place}.{file}={folder / file}.jsonl" for file in ("documents", "samples")]
    try:
        return base_cell(folder, *own)
    except RagGridError as error:
        if f"{group}.llm.api_key_env" not in str(error):
            raise
        return base_cell(folder, *own, f"llm@{group}.llm=scripted", f"{group}.llm.reply='{REPLY}'")
