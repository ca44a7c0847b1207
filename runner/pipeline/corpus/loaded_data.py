"""Loads the data set, and separates its corpus from its samples: the key of each then depends only on its content."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from components.datasets.assembly import recount
from components.datasets.returned_benchmark import check_returned
from components.errors import DataError
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import Dataset, DatasetOverSource, Source, separate_source
from components.records import Benchmark, Documents, Sample
from components.text.languages import detect_language
from runner.engine.broken_contracts import name_class_in_errors
from runner.engine.codecs import Parts
from runner.engine.identity import hash_description, walk_components
from runner.engine.outdated_results import discard, find_outdated_stages
from runner.engine.plugins.plugin_loading import identify_files
from runner.engine.source_code import is_ours
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult
from runner.engine.worker import read_cached
from runner.pipeline.corpus.document_table import documents_part, read_documents
from runner.pipeline.corpus.partition import DOCUMENTS_PER_BLOCK, CorpusPartition, PartitionSummary
from runner.pipeline.corpus.sample_codec import decode_samples, encode_samples

_HASH_BYTES = 16


class BenchmarkCodec:
    """Stores documents as a table and samples as JSON.

    The part `content` has hashes of both, so that a result that depends on one of them stays cached if only the other
    changes. The part `hashes` has one hash per document.
    """

    def encode(self, result: Benchmark) -> Parts:
        documents = result.documents
        samples = encode_samples(result.samples)
        questions = [sample.question for sample in result.samples]
        labels = [list(item) for item in result.labels.items()]
        hashes = _hashes(documents)
        return {
            "content": {
                "documents": sha256(hashes.tobytes()).hexdigest(),
                "samples": hash_description([samples, labels]),
                "n_documents": len(documents),
                "n_samples": len(samples),
                "corpus_prefixes": sorted({sample.corpus_prefix for sample in result.samples}),
                "n_by_turn": _n_by_turn(result.samples),
                "language": detect_language(chain(*zip(questions, documents.texts, strict=False))),
            },
            "documents": documents_part(documents),
            "hashes": hashes,
            "samples": samples,
            "notes": dict(result.notes),
            "labels": labels,
        }

    def decode(self, parts: Parts) -> Benchmark:
        return Benchmark(read_documents(parts), decode_samples(parts["samples"]), parts["notes"], dict(parts["labels"]))


def _hashes(documents: Documents) -> NDArray[np.uint8]:
    """Hash the id, title, text and metadata of each document: uint8[n_documents, 16]."""
    hashes = np.empty((len(documents), _HASH_BYTES), dtype=np.uint8)
    for row, texts in enumerate(zip(documents.ids, documents.titles, documents.texts, strict=True)):
        # As ordered pairs, because prompts show metadata in this order.
        facts = [item for pair in documents.metadata[row].items() for item in pair] if documents.metadata else []
        encoded = [text.encode() for text in (*texts, *facts)]
        hasher = blake2b(" ".join(str(len(text)) for text in encoded).encode(), digest_size=_HASH_BYTES)
        for text in encoded:
            hasher.update(text)
        hashes[row] = np.frombuffer(hasher.digest(), dtype=np.uint8)
    return hashes


def _n_by_turn(samples: Sequence[Sample]) -> list[int]:
    """Count the samples with no earlier turn, with one, with two, and so on."""
    counts = Counter(len(sample.history) for sample in samples)
    return [counts[n_earlier] for n_earlier in range(max(counts, default=0) + 1)]


class CorpusCodec:
    """Stores documents as one table. Texts may stay on disk."""

    def encode(self, result: Documents) -> Parts:
        return {"documents": documents_part(result)}

    def decode(self, parts: Parts) -> Documents:
        return read_documents(parts)


@dataclass(frozen=True)
class SampleSet:
    """The samples of a benchmark, and readable labels by slug, in the data set's order."""

    samples: tuple[Sample, ...]
    labels: Mapping[str, str]


class SamplesCodec:
    """Stores samples and labels as JSON."""

    def encode(self, result: SampleSet) -> Parts:
        return {
            "samples": encode_samples(result.samples),
            "labels": [list(item) for item in result.labels.items()],
        }

    def decode(self, parts: Parts) -> SampleSet:
        return SampleSet(decode_samples(parts["samples"]), dict(parts["labels"]))


@dataclass(frozen=True)
class SourceDocuments:
    """The documents of a source, and counts for the notes."""

    documents: Documents
    counts: Mapping[str, Json]


class SourceCodec:
    """Stores documents as a table, and counts as JSON."""

    def encode(self, result: SourceDocuments) -> Parts:
        return {"documents": documents_part(result.documents), "counts": dict(result.counts)}

    def decode(self, parts: Parts) -> SourceDocuments:
        return SourceDocuments(read_documents(parts), parts["counts"])


class LoadedSource(Stage[SourceDocuments], kind="source", version=1, work=Work.BENCHMARK):
    """The documents of a data set with a separate source. They are read once for all questions about them."""

    codec = SourceCodec()

    source: Source
    fingerprint: str

    def make(self, run: Run) -> SourceDocuments:
        """Read the documents. Raises DataError for errors in the files, and for files that change during the read."""
        documents = SourceDocuments(*self.source.read())
        _require_unchanged(self.source, self.fingerprint)
        return documents


class LoadedBenchmark(Stage[Benchmark], kind="data", version=10, work=Work.BENCHMARK):
    """The data set as its loader returns it. `fingerprint` is the hash of the files that it reads."""

    codec = BenchmarkCodec()

    dataset: Dataset
    fingerprint: str
    sources: tuple[LoadedSource, ...] = ()

    def make(self, run: Run) -> Benchmark:
        """Load the data set. Raises DataError for errors in the files, and for files that change during the load."""
        loaded = self._load(run)
        _require_unchanged(self.dataset, self.fingerprint)
        if users := next((part for part in walk_components(self.dataset) if not is_ours(type(part))), None):
            check_returned(loaded, f"the data set of {type(users).__module__}.{type(users).__qualname__}")
        return recount(loaded)

    def _load(self, run: Run) -> Benchmark:
        for stage in self.sources:  # a data set has at most one source
            if isinstance(self.dataset, DatasetOverSource):
                source = run.read(stage)
                return self.dataset.load_over(source.documents, source.counts)
        return self.dataset.load()


def _require_unchanged(files: Dataset | Source, fingerprint: str) -> None:
    """Raise DataError if the files no longer match `fingerprint`."""
    if identify_files(files, "fingerprint") != fingerprint:
        raise DataError(
            f"{type(files).__name__}: its files changed while they were read. When all writes to them have ended, "
            "run the same command again: finished work is cached."
        )


_BY_CONTENT = "its content hash identifies it, however it was loaded"


class Corpus(Stage[Documents], kind="corpus", version=2, work=Work.BENCHMARK):
    """The documents of a data set. Data sets with the same texts share this stage, even with other questions."""

    codec = CorpusCodec()

    content: str
    data: LoadedBenchmark = runtime_only(None, _BY_CONTENT)

    def make(self, run: Run) -> Documents:
        """Return the documents of the data set."""
        return read_documents(run.parts(self.data))


class Samples(Stage[SampleSet], kind="samples", version=3, work=Work.BENCHMARK):
    """The samples with their labels."""

    codec = SamplesCodec()

    content: str
    data: LoadedBenchmark = runtime_only(None, _BY_CONTENT)

    def make(self, run: Run) -> SampleSet:
        """Return the samples of the data set."""
        parts = run.parts(self.data)
        return SampleSet(decode_samples(parts["samples"]), dict(parts["labels"]))


@dataclass(frozen=True)
class DatasetStages:
    """A loaded data set as stages.

    `notes` are decisions of its loader. `corpus_prefixes` are the prefixes of the ids of documents that are searched
    together, ("",) for one corpus. `language` is the detected language. `key` is a SHA-256 of documents and samples,
    independent of their place and name. If other texts are searched instead of the documents, `corpus` is their stage.
    """

    loaded: LoadedBenchmark
    corpus: Stage[Documents]
    samples: Samples
    n_documents: int
    n_samples: int
    corpus_prefixes: tuple[str, ...]
    notes: Mapping[str, Json]
    language: str
    key: str
    n_by_turn: tuple[int, ...]
    parts: PartitionSummary


def some_documents(data: DatasetStages, store: Store, n_documents: int) -> Documents:
    """Return at most `n_documents` documents, spread over the corpus.

    Raises DataError if the data set must be loaded first and has errors.
    """

    def read(entry: StoredResult) -> Documents:
        documents = read_documents(entry.parts())
        return documents.at(range(0, len(documents), max(-(-len(documents) // n_documents), 1)))

    return read_cached(data.loaded, store, read)


def metadata_names(data: DatasetStages, store: Store) -> tuple[str, ...]:
    """Return the names of the documents' metadata, sorted.

    Raises DataError if the data set must be loaded first and has errors.
    """

    def read(entry: StoredResult) -> tuple[str, ...]:
        return tuple(sorted({name for facts in read_documents(entry.parts()).metadata for name in facts}))

    return read_cached(data.loaded, store, read)


def load_data(
    dataset: Dataset,
    store: Store,
    announce: Callable[[str], None] = lambda line: None,
    documents_per_block: int = DOCUMENTS_PER_BLOCK,
    fresh: Collection[str] = (),
) -> DatasetStages:
    """Load a data set unless it is cached.

    It is loaded before all other work, because its errors should be found first, and because the plan needs its size
    and its blocks of at most `documents_per_block`. Cached results of kinds in `fresh` are computed again if other
    library versions produced them.

    Raises DataError if the data set has errors, and ComponentError if a data set of another package raises an error or
    returns something else.
    """
    source = separate_source(dataset)
    sources = (LoadedSource(source, identify_files(source, "fingerprint")),) if source else ()
    loaded = LoadedBenchmark(dataset, identify_files(dataset, "fingerprint"), sources)
    discard(find_outdated_stages((*sources, loaded), fresh, store), store)
    if store.find(loaded.kind, loaded.key) is None:
        announce(f"loading {dataset.name} ...")
    remedy = "Fix the class: its `load` returns a Benchmark"
    with name_class_in_errors(dataset, "the data set cannot be loaded or stored", remedy, passing=OSError):
        content, notes = read_cached(loaded, store, lambda entry: (entry.parts()["content"], entry.parts()["notes"]))
    corpus = Corpus(content["documents"], loaded)
    prefixes = tuple(content["corpus_prefixes"])
    partition = CorpusPartition(corpus.content, documents_per_block, prefixes, loaded)
    return DatasetStages(
        loaded,
        corpus,
        Samples(content["samples"], loaded),
        content["n_documents"],
        content["n_samples"],
        prefixes,
        notes,
        content["language"],
        hash_description([content["documents"], content["samples"]]),
        tuple(content["n_by_turn"]),
        read_cached(partition, store, lambda entry: PartitionSummary.from_partition(partition, entry.parts())),
    )
