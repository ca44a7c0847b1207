"""The description of an exported folder in `pipeline.json`: cell, configuration, data and cached stages.

DIR/README.md, pipeline.py, requirements.txt
DIR/check/                      questions and answers of the sweep: samples.json, expected.parquet
DIR/model/                      an MLflow model that needs nothing outside it
DIR/model/code/                 the packages of this project, and custom ones
DIR/model/artifacts/pipeline/   pipeline.json, stages/, models/
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from components.errors import DataError
from components.json_value import Json
from runner.engine.store.manifests import MANIFEST_ERRORS, named_files
from runner.results.json_types import require_types
from runner.results.sealed_json import pop_checksum, read_content, seal_json
from runner.serving.asked_question import Defaults
from runner.serving.cached_stages import StageFiles

FORMAT = 1
PIPELINE = Path("model", "artifacts", "pipeline")
CODE = Path("model", "code")
CHECK = Path("check")
_FILE = "pipeline.json"


@dataclass(frozen=True)
class DataFacts:
    """Facts of a data set that the graph of a pipeline needs: see `runner.pipeline.corpus.loaded_data.DatasetStages`.

    `corpus` and `samples` are content hashes. `parts` describes the partition of the corpus: `contents` and `of_prefix`
    of `runner.pipeline.corpus.partition.Partition`, and `documents_per_block`.
    """

    name: str
    corpus: str
    samples: str
    n_documents: int
    n_samples: int
    corpus_prefixes: tuple[str, ...]
    language: str
    n_by_turn: tuple[int, ...]
    parts: Mapping[str, Json]


@dataclass(frozen=True)
class Description:
    """One `pipeline.json`.

    `axes` are those that influence an answer, by short name. `components` are the configuration nodes that answering
    uses, by field of the cell. `model_folders` maps configuration paths ("retriever.embedder.model") to folders next to
    the file. `pool` is the data set of the examples in prompts, or {} if the prompts have no examples. `rerankers` is
    the chosen candidate by set, if there was a choice; "" is for questions without a set.
    """

    sweep_id: str
    cell_id: str
    axes: Mapping[str, Json]
    components: Mapping[str, Json]
    data: Mapping[str, Json]
    defaults: Mapping[str, Json]
    stages: tuple[Mapping[str, Json], ...]
    pool: Mapping[str, Json] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    rerankers: Mapping[str, str] = field(default_factory=dict)
    model_folders: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def stage_files(self) -> list[StageFiles]:
        """The cached stages in the folder."""
        return [StageFiles(**stage) for stage in self.stages]

    @property
    def question_defaults(self) -> Defaults:
        """Default kinds of a question."""
        return Defaults(**self.defaults)


def data_facts(raw: Mapping[str, Json]) -> DataFacts:
    """Return the facts in `pipeline.json`."""
    return DataFacts(**_lists_as_tuples(raw))


def _lists_as_tuples(raw: Mapping[str, Json]) -> dict[str, Json]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}


def write_description(folder: Path, description: Description) -> None:
    """Write `pipeline.json` into the folder."""
    text = json.dumps(asdict(description), ensure_ascii=False, indent=2, sort_keys=False, allow_nan=False)
    (folder / _FILE).write_bytes(seal_json(text + "\n"))


def read_description(folder: Path) -> Description:
    """Read `pipeline.json`. Raises DataError if it is missing, invalid or of another format."""
    path = folder / _FILE
    try:
        content = read_content(path)
        raw: dict[str, Json] = json.loads(content.decode("utf-8"))
        if raw["format"] != FORMAT:
            raise DataError(f"{path}: has format {raw['format']}, this version reads {FORMAT}. Export the cell again.")
        pop_checksum(raw, content, path, "Export the cell again. If you edited it, delete its last field, checksum.")
        require_types(raw, Description)
        description = Description(**_lists_as_tuples(raw))
        _ = (description.question_defaults, data_facts(description.data))  # these properties raise if a fact is invalid
        for files in description.stage_files:
            require_types({"folder": files.folder, "made_by": files.made_by}, StageFiles)
            named_files({"files": files.files})
        if description.rerankers and "" not in description.rerankers:
            raise ValueError("rerankers: has no reranker for questions without a subset")
        return description
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: does not exist, expected a folder that `python -m runner.export SWEEP CELL --out DIR` wrote"
        ) from error
    except (OSError, *MANIFEST_ERRORS) as error:
        raise DataError(f"{path}: cannot be used ({error}). Export the cell again.") from error


def is_export(folder: Path) -> bool:
    """Return True if `python -m runner.export` wrote the folder, in any format."""
    return (folder / PIPELINE / _FILE).is_file() and (folder / "pipeline.py").is_file()
