"""Finds and checks the parts of a sweep's cell that an export needs, before anything is written."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from components.errors import ConfigError, DataError
from components.histories.gold import GoldHistory
from components.json_value import Json
from components.pretrained.model_folder import adapter_base_folder, local_folder
from components.protocols import AnswersFrom, History, PickingArm, RerankerSelection
from components.records import Sample
from runner.engine.identity import walk_components
from runner.engine.plugins.trusted_packages import foreign_targets, is_within, require_trusted, select_trusted
from runner.engine.store import Store, StoredResult
from runner.pipeline.building import build_component, read_plugins
from runner.pipeline.cell import Cell
from runner.pipeline.ranking.list_reranking import RERANKER
from runner.results import OK, CellResult, SweepResult, read_sweep
from runner.results.loaded_sweep import LoadedSweep
from runner.serving.asked_question import find_defaults
from runner.serving.exporting.stored_stages import ExportStore
from runner.serving.folder_description import Description
from runner.serving.folder_trust import foreign_code
from runner.serving.nodes import find_class, model_paths, without_alarms, without_data_sets
from runner.serving.pipeline import graph_stages
from runner.serving.served_graph import build_cell, served_graph, served_nodes

_ABOUT_THE_SWEEP = ("dataset", "metrics", "judge", "judge_repeat")
"""Groups of axes that determine the questions and the judging of answers."""


@dataclass(frozen=True)
class ExportedCell:
    """Everything that an exported folder is made of.

    `entries` are the cached stages in `store`, in the order of `description.stage_files`. `models` are folders of
    pretrained models by their names in the export. `samples` are the sweep's questions. `earlier` has for each the
    positions of its earlier turns, if its conversation contains the model's own answers.
    """

    sweep: SweepResult
    folder: Path
    result: CellResult
    cell: Cell
    description: Description
    entries: tuple[StoredResult, ...]
    models: Mapping[str, Path]
    samples: tuple[Sample, ...]
    earlier: tuple[tuple[int, ...], ...]
    store: Store

    @property
    def is_search_only(self) -> bool:
        """True if the cell answers no question, but only finds passages."""
        return self.cell.llm.answers_from is AnswersFrom.NOTHING

    @property
    def parts(self) -> list[object]:
        """All components that answering uses."""
        return [part for name in self.description.components for part in walk_components(getattr(self.cell, name))]

    @property
    def key_variables(self) -> list[str]:
        """Environment variables with API keys of servers."""
        return sorted({variable for part in self.parts if (variable := getattr(part, "api_key_env", ""))})

    @property
    def code(self) -> list[str]:
        """Third-party code that answering runs."""
        return foreign_code(self.description)

    @property
    def hub_models(self) -> list[str]:
        """Models that are loaded by name."""
        named = [str(getattr(part, "model", "")) for part in self.parts if hasattr(part, "content_hash")]
        return sorted({model for model in named if model and local_folder(model) is None})


def collect_export(sweep: LoadedSweep, result: CellResult, store_dir: Path | None = None) -> ExportedCell:
    """Find everything that the cell's answers need.

    Raises DataError or ConfigError for a cell that cannot be exported, and DataError for cached stages that are missing
    or damaged.
    """
    if result.status != OK:
        raise DataError(
            f"{result.cell_id}: the cell failed ({result.reason}). Export another cell, or fix the cause and run the "
            "sweep again."
        )
    if result.has_own_pipeline:
        raise DataError(
            f"{result.cell_id}: is a pipeline of your own (pipeline={result.axes.get('pipeline')}), which rag-grid "
            "does not contain. Deploy it as it is, or export a cell with pipeline=built_in."
        )
    folder, plugins = sweep.folder_of(result), select_trusted(read_plugins(result.config))
    served = served_nodes(result.config, frozenset(result.config))
    for _, target in foreign_targets(served, "", ()):
        if target.startswith("__main__."):
            raise DataError(
                f"{result.cell_id}: {target} is defined in the program that ran the sweep, and an export cannot import "
                "it. Move it to a module, name the module in run.plugins, and run the sweep again."
            )
    require_trusted(served, f"cell {result.cell_id}")
    _require_own_index(served.get("retriever", {}))
    store = ExportStore(result, folder.parent, store_dir)
    data, samples = store.data()
    run: Mapping[str, Json] = served.get("run", {})  # names the packages of all cells of the sweep
    needed = list(_needed_packages(plugins, served))
    nodes = without_alarms({**served, "run": {**run, "plugins": needed}} if run else served)
    whole = build_cell(nodes, plugins)
    _require_search(whole)
    pool = store.pool(whole.examples)
    chosen = _chosen_rerankers(whole, result)
    graphs = [served_graph(whole, data, pool, each) for each in (chosen.values() or [None])]
    used = frozenset[str]().union(*(graph.used for graph in graphs))
    nodes = without_data_sets({name: node for name, node in nodes.items() if name in used})
    stored = [store.find(stage) for stage in graph_stages(graphs)]
    folders = dict(model_paths(nodes))
    _require_whole_models(folders)
    names = _names(folders)
    description = Description(
        sweep.folder_of(result).parent.name,
        result.cell_id,
        _axes(result),
        nodes,
        asdict(data),
        asdict(find_defaults(samples)),
        tuple(asdict(files) for files, _ in stored),
        asdict(pool) if pool else {},
        _needed_packages(plugins, nodes),
        chosen,
        names,
    )
    return ExportedCell(
        read_sweep(folder.parent),
        folder,
        result,
        build_cell(nodes, plugins),
        description,
        tuple(entry for _, entry in stored),
        {names[key]: path for key, path in folders.items()},
        samples,
        tuple(_history(result, plugins).earlier_turns(samples)),
        store.store,
    )


def _needed_packages(plugins: Sequence[str], nodes: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the packages with code that the configuration names."""
    targets = [f"{target}." for _, target in foreign_targets(nodes, "", ())]
    return tuple(name for name in plugins if any(is_within(target, [name]) for target in targets))


def _axes(result: CellResult) -> dict[str, Json]:
    """Return the axes that influence an answer."""
    groups = ((name, value, name.partition(".")[0]) for name, value in result.axes.items())
    return {name: value for name, value, group in groups if value is not None and group not in _ABOUT_THE_SWEEP}


def _require_own_index(retriever: Json) -> None:
    """Raise ConfigError for a search outside the store. Its code need not be trusted, because nothing is built."""
    cls = find_class(retriever)
    if cls is not None and hasattr(cls, "find"):  # the class is an ExistingIndexArm
        raise ConfigError(
            f"retriever: {cls.__name__} searches an index of your own, which an exported folder does not contain. "
            "Deploy your search as it is, or export a cell with another retriever."
        )


def _require_search(cell: Cell) -> None:
    if any(isinstance(arm, PickingArm) for arm in cell.retriever.arms):
        raise ConfigError(
            f"retriever: {type(cell.retriever).__name__} picks its passages without a search, by the samples or "
            "by the order of the corpus. Export a cell whose retriever searches."
        )


def _chosen_rerankers(cell: Cell, result: CellResult) -> dict[str, str]:
    """Return the chosen reranker by subset, if the cell chose one for each. "" is for other questions: the best over
    all subsets together.
    """
    if not isinstance(cell.reranker, RerankerSelection):
        return {}
    facts: Mapping[str, Json] = result.steps[RERANKER]
    return {"": facts["overall"]["chosen"], **{name: entry["chosen"] for name, entry in facts["sets"].items()}}


def _names(folders: Mapping[str, Path]) -> dict[str, str]:
    """Return the name of each model's folder in the export, by configuration path. Equal folders share a name."""
    paths = list(dict.fromkeys(path.resolve() for path in folders.values()))
    return {key: f"models/{paths.index(path.resolve()) + 1}-{path.resolve().name}" for key, path in folders.items()}


def _require_whole_models(folders: Mapping[str, Path]) -> None:
    """Raise ConfigError for the folder of an adapter, whose base would stay where it is, and may change there."""
    for place, folder in folders.items():
        if place.endswith(".model") and (base := adapter_base_folder(folder)):
            raise ConfigError(
                f"{place}: {folder} is an adapter of {base}, which an export would not contain. Merge the adapter into "
                "the model (PEFT: merge_and_unload), and sweep the merged model."
            )


def _history(result: CellResult, plugins: tuple[str, ...]) -> History:
    """Return the history of the cell. Without one, the pipeline uses the benchmark's earlier turns, if any."""
    if result.axes.get("history") is None:
        return GoldHistory()
    history: History = build_component(result.config["history"], History, "history", plugins)
    return history
