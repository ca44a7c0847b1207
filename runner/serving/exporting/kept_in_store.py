"""What a sweep's store holds of a cell."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.errors import DamagedEntryError, DataError
from components.json_value import Json
from components.protocols import Examples
from components.records import Sample
from runner.engine.identity import key_of
from runner.engine.stage import Stage
from runner.engine.store import StoredResult, is_bucket, open_store
from runner.pipeline.corpus.loaded_data import load_data
from runner.pipeline.corpus.partition import CorpusPartition
from runner.pipeline.corpus.sample_codec import decode_samples
from runner.results import CellResult
from runner.serving.folder_description import DataFacts
from runner.serving.kept_in_folder import KeptFiles, made_by


class ExportStore:
    """The store that a cell's sweep was run with."""

    def __init__(self, result: CellResult, sweep_dir: Path, store_dir: Path | None) -> None:
        """`store_dir` None is for the one that the configuration names, or the one beside the sweep. Raises DataError
        if there is none.
        """
        run = result.config["run"]
        named = str(run["store_dir"])
        beside = sweep_dir.resolve().parent / Path(named).name
        # Of a store among the results, results/store, there may be another one where this is called.
        both = [str(beside), named] if Path(named).parts[-2:] == beside.parts[-2:] else [named, str(beside)]
        tried = [str(store_dir)] if store_dir else both
        store = next((each for each in tried if is_bucket(each) or (Path(each) / "store.json").is_file()), None)
        if store is None:
            raise DataError(f"{' and '.join(dict.fromkeys(tried))}: no store is there; name the sweep's by --store")
        self.store = open_store(store, str(run.get("cache_dir", "")))
        self._result = result
        self._again = shlex.join(["python", "-m", "runner", *result.overrides])

    def data(self) -> tuple[DataFacts, tuple[Sample, ...]]:
        """The data set: facts, and samples. Raises DataError if it is not kept."""
        name, key = str(self._result.dataset["name"]), self._result.dataset["key"]
        for entry in self.store.entries("data"):
            try:
                content = entry.part("content")
                if key_of([content["documents"], content["samples"]]) == key:
                    return self._facts(name, content), decode_samples(entry.part("samples"))
            except (DamagedEntryError, KeyError):  # of an earlier version: another entry may be as it should
                continue
        raise self._missing("data")

    def pool(self, examples: Examples) -> DataFacts | None:
        """The data set of the examples in prompts; None if there are none. Raises DataError."""
        if not examples or not examples.n or not examples.dataset:
            return None
        data = load_data(
            examples.dataset, self.store, documents_per_block=self._result.config["run"]["documents_per_block"]
        )
        entry = self.store.find(data.loaded.kind, data.loaded.key)
        assert entry is not None, "it was loaded"
        return self._facts(examples.dataset.name, entry.part("content"))

    def _facts(self, name: str, content: Mapping[str, Json]) -> DataFacts:
        size, prefixes = self._result.config["run"]["documents_per_block"], tuple(content["corpus_prefixes"])
        partition = CorpusPartition(content["documents"], size, prefixes)
        entry = self.store.find(partition.kind, partition.key)
        if entry is None:
            raise self._missing(partition.kind)
        return facts_of(name, content, partition, entry)

    def kept(self, stage: Stage[Any]) -> tuple[KeptFiles, StoredResult]:
        """The result of a stage. Raises DataError if it is missing or damaged."""
        entry = self.store.find(stage.kind, stage.key)
        if entry is None:
            raise self._missing(stage.kind)
        if damages := entry.damages():
            raise self._damaged(entry, "; ".join(damages))
        files = {name: list(told) for name, told in sorted(entry.manifest.files.items())}
        return KeptFiles(f"stages/{stage.kind}-{entry.manifest.key[:12]}", stage.kind, made_by(stage), files), entry

    def _missing(self, kind: str) -> DataError:
        return DataError(
            f"{self.store.root}: stage '{kind}' of cell {self._result.cell_id} is not kept: it was pruned, is "
            f"damaged, or was made by another version of the project. Make it anew: {self._again}"
        )

    def _damaged(self, entry: StoredResult, why: str) -> DataError:
        return DataError(f"{entry.folder}: is damaged ({why}). It is made anew by: {self._again}")


def facts_of(name: str, content: Mapping[str, Json], partition: CorpusPartition, kept: StoredResult) -> DataFacts:
    """Of a data set, from what its stages keep of its content, and of its partition."""
    return DataFacts(
        name,
        content["documents"],
        content["samples"],
        content["n_documents"],
        content["n_samples"],
        partition.prefixes,
        content["language"],
        tuple(content["n_by_turn"]),
        {
            "documents_per_block": partition.documents_per_block,
            "contents": kept.part("contents"),
            "of_prefix": kept.part("of_prefix"),
        },
    )
