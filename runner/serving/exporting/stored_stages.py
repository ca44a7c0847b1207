"""Reads the cached stages of a cell from the store of its sweep."""

from collections.abc import Mapping
from pathlib import Path

from components.errors import DamagedEntryError, DataError
from components.json_value import Json
from components.protocols import Examples
from components.records import Sample
from runner.engine.identity import hash_description
from runner.engine.stage import AnyStage
from runner.engine.store import StoredResult, is_bucket, open_named_store
from runner.pipeline.corpus.loaded_data import load_data
from runner.pipeline.corpus.partition import CorpusPartition
from runner.pipeline.corpus.sample_codec import decode_samples
from runner.results import CellResult, cell_command, read_sweep
from runner.serving.cached_stages import StageFiles, read_versions
from runner.serving.folder_description import DataFacts


class ExportStore:
    """The store that a cell's sweep used."""

    def __init__(self, result: CellResult, sweep_dir: Path, store_dir: Path | None) -> None:
        """Open the store in `store_dir`. By default, it is the store that the configuration names, or the store next to
        the sweep's folder.

        Raises DataError if neither exists.
        """
        run = result.config["run"]
        named = str(run["store_dir"])
        beside = sweep_dir.resolve().parent / Path(named).name
        # A relative path such as results/store may name another store in the working directory.
        both = [str(beside), named] if Path(named).parts[-2:] == beside.parts[-2:] else [named, str(beside)]
        tried = [str(store_dir)] if store_dir else both
        store = next((each for each in tried if is_bucket(each) or (Path(each) / "store.json").is_file()), None)
        if store is None:
            raise DataError(
                f"{' and '.join(dict.fromkeys(tried))}: no store found. Pass the store of the sweep with --store-dir."
            )
        self.store = open_named_store(store, str(run.get("cache_dir", "")), sweep_dir.resolve().parent)
        self._result = result
        self._sweep_dir = sweep_dir

    def data(self) -> tuple[DataFacts, tuple[Sample, ...]]:
        """Return facts of the data set, and its samples. Raises DataError if they are not stored."""
        name, key = str(self._result.dataset["name"]), self._result.dataset["key"]
        for entry in self.store.entries("data"):
            try:
                content = entry.part("content")
                if hash_description([content["documents"], content["samples"]]) == key:
                    return self._facts(name, content), decode_samples(entry.part("samples"))
            except (DamagedEntryError, KeyError):  # an earlier version wrote the entry; another one may be valid
                continue
        raise self._missing_error("data")

    def pool(self, examples: Examples) -> DataFacts | None:
        """Return the data set of the examples in prompts, or None if the prompts have no examples.

        Raises DataError if the data set has errors.
        """
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
            raise self._missing_error(partition.kind)
        return collect_facts(name, content, partition, entry)

    def find(self, stage: AnyStage) -> tuple[StageFiles, StoredResult]:
        """Return the result of a stage. Raises DataError if it is missing or damaged."""
        entry = self.store.find(stage.kind, stage.key)
        if entry is None:
            raise self._missing_error(stage.kind)
        if damages := entry.damages():
            raise self._damage_error(entry, "; ".join(damages))
        files = {name: list(facts) for name, facts in sorted(entry.manifest.files.items())}
        return StageFiles(
            f"stages/{stage.kind}-{entry.manifest.key[:12]}", stage.kind, read_versions(stage), files
        ), entry

    def _command(self) -> str:
        return cell_command(self._result, read_sweep(self._sweep_dir).command)

    def _missing_error(self, kind: str) -> DataError:
        return DataError(
            f"{self.store.root}: stage '{kind}' of cell {self._result.cell_id} is not stored: it was pruned, is "
            f"damaged, or was computed by another version of rag-grid. Compute it again: {self._command()}"
        )

    def _damage_error(self, entry: StoredResult, why: str) -> DataError:
        return DataError(f"{entry.folder}: is damaged ({why}). Compute it again: {self._command()}")


def collect_facts(
    name: str, content: Mapping[str, Json], partition: CorpusPartition, stored: StoredResult
) -> DataFacts:
    """Return the facts of a data set from the stored results of its stages and its partition."""
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
            "contents": stored.part("contents"),
            "of_prefix": stored.part("of_prefix"),
        },
    )
