"""The data set: loading it, and telling its corpus from its samples, so that each is keyed by its own content."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import pyarrow as pa

from components.fields import runtime_only
from components.json_value import Json
from components.protocols import Dataset, DatasetOverSource, Source
from components.records import Benchmark, Documents, Sample
from components.text.languages import detect_language
from runner.engine.codecs import Codec, Parts
from runner.engine.identity import key_of
from runner.engine.run import Run
from runner.engine.stage import Stage, Work
from runner.engine.store import Entry, Store
from runner.engine.worker import read_kept
from runner.pipeline.sample_codec import decode_samples, encode_samples


class BenchmarkCodec:
    """Documents as a table, samples as JSON, and `content`: hashes of both, so that what is computed from one of them
    is kept when only the other changes.
    """

    def encode(self, result: Benchmark) -> Parts:
        """Documents, samples, notes, labels, content."""
        documents = result.documents
        samples = encode_samples(result.samples)
        questions = [sample.question for sample in result.samples]
        labels = [list(item) for item in result.labels.items()]
        texts = [list(documents.ids), list(documents.titles), list(documents.texts)]
        # Pairs, since prompts show them in their order. No facts at all are none, however they came: see `_documents`.
        metadata = [list(facts.items()) for facts in documents.metadata] if any(documents.metadata) else []
        return {
            "content": {
                "documents": key_of([*texts, metadata] if metadata else texts),
                "samples": key_of([samples, labels]),
                "n_documents": len(documents),
                "n_samples": len(samples),
                "corpus_prefixes": sorted({sample.corpus_prefix for sample in result.samples}),
                "n_by_turn": _n_by_turn(result.samples),
                "language": detect_language(chain(*zip(questions, documents.texts, strict=False))),
            },
            "documents": _table(documents),
            "samples": samples,
            "notes": dict(result.notes),
            "labels": labels,
        }

    def decode(self, parts: Parts) -> Benchmark:
        """The benchmark."""
        return Benchmark(
            _documents(parts["documents"]), decode_samples(parts["samples"]), parts["notes"], dict(parts["labels"])
        )


def _n_by_turn(samples: Sequence[Sample]) -> list[int]:
    """How many samples have no earlier turn, one, two, and so on."""
    counts = Counter(len(sample.history) for sample in samples)
    return [counts[n_earlier] for n_earlier in range(max(counts, default=0) + 1)]


def _table(documents: Documents) -> pa.Table:
    metadata = [list(facts.items()) for facts in documents.metadata] or [[]] * len(documents)
    return pa.table(
        {
            "id": pa.array(documents.ids, pa.string()),
            "title": pa.array(documents.titles, pa.string()),
            "text": pa.array(documents.texts, pa.large_string()),
            "metadata": pa.array(metadata, pa.map_(pa.string(), pa.string())),
        }
    )


def _documents(table: pa.Table) -> Documents:
    metadata = [dict(facts) for facts in table["metadata"].to_pylist()]
    ids, titles, texts = (table[column].to_pylist() for column in ("id", "title", "text"))
    return Documents(ids, titles, texts, metadata if any(metadata) else ())


class CorpusCodec:
    """Documents as one table."""

    def encode(self, result: Documents) -> Parts:
        """The table."""
        return {"documents": _table(result)}

    def decode(self, parts: Parts) -> Documents:
        """The documents."""
        return _documents(parts["documents"])


@dataclass(frozen=True)
class SampleSet:
    """The samples of a benchmark, and readable labels by slug, in the data set's order."""

    samples: tuple[Sample, ...]
    labels: Mapping[str, str]


class SamplesCodec:
    """Samples and labels as JSON."""

    def encode(self, result: SampleSet) -> Parts:
        """Samples and labels."""
        return {
            "samples": encode_samples(result.samples),
            "labels": [list(item) for item in result.labels.items()],
        }

    def decode(self, parts: Parts) -> SampleSet:
        """The samples with their labels."""
        return SampleSet(decode_samples(parts["samples"]), dict(parts["labels"]))


@dataclass(frozen=True)
class SourceDocuments:
    """The documents of a source, and counts for the notes."""

    documents: Documents
    counts: Mapping[str, Json]


class SourceCodec:
    """Documents as a table, counts as JSON."""

    def encode(self, result: SourceDocuments) -> Parts:
        """Both."""
        return {"documents": _table(result.documents), "counts": dict(result.counts)}

    def decode(self, parts: Parts) -> SourceDocuments:
        """Both."""
        return SourceDocuments(_documents(parts["documents"]), parts["counts"])


@dataclass(frozen=True, eq=False)
class ReadSource(Stage[SourceDocuments]):
    """The documents of a data set that has them apart: whatever is asked about them, they are read once."""

    kind: ClassVar[str] = "source"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[SourceDocuments]] = SourceCodec()

    source: Source
    fingerprint: str

    def make(self, run: Run) -> SourceDocuments:
        """Reads them. Raises DataError."""
        return SourceDocuments(*self.source.read())


@dataclass(frozen=True, eq=False)
class LoadedBenchmark(Stage[Benchmark]):
    """The data set as its loader gives it; `fingerprint` is the hash of the files that it reads."""

    kind: ClassVar[str] = "data"
    version: ClassVar[int] = 7
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Benchmark]] = BenchmarkCodec()

    dataset: Dataset
    fingerprint: str
    sources: tuple[ReadSource, ...] = ()

    def make(self, run: Run) -> Benchmark:
        """Loads it. Raises DataError."""
        for stage in self.sources:  # one at most
            if isinstance(self.dataset, DatasetOverSource):
                read = run.read(stage)
                return self.dataset.load_over(read.documents, read.counts)
        return self.dataset.load()


_BY_CONTENT = "the hash of the content stands for it, wherever it was loaded from"


@dataclass(frozen=True, eq=False)
class Corpus(Stage[Documents]):
    """The documents alone: equal for all data sets with the same texts, whatever is asked about them."""

    kind: ClassVar[str] = "corpus"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Documents]] = CorpusCodec()

    content: str
    data: LoadedBenchmark = runtime_only(None, _BY_CONTENT)

    def make(self, run: Run) -> Documents:
        """The documents of the data set."""
        return _documents(run.parts(self.data)["documents"])


@dataclass(frozen=True, eq=False)
class Samples(Stage[SampleSet]):
    """The samples with their labels."""

    kind: ClassVar[str] = "samples"
    version: ClassVar[int] = 3
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[SampleSet]] = SamplesCodec()

    content: str
    data: LoadedBenchmark = runtime_only(None, _BY_CONTENT)

    def make(self, run: Run) -> SampleSet:
        """The samples of the data set."""
        parts = run.parts(self.data)
        return SampleSet(decode_samples(parts["samples"]), dict(parts["labels"]))


@dataclass(frozen=True)
class Data:
    """A loaded data set as stages. `notes` are what its loader had to decide; `corpus_prefixes` how the ids of those
    documents begin that are searched together, ("",) for one corpus; `language` is the one that the texts look like;
    `key` is a SHA-256 that stands for documents and samples, whatever their place or name. Where texts were made of the
    documents that are searched in their place, these are the `corpus`.
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


def some_documents(data: Data, store: Store, n_documents: int) -> Documents:
    """At most so many documents, from all over the corpus. Raises DataError."""

    def read(entry: Entry) -> Documents:
        table = entry.part("documents")
        step = max(-(-len(table) // n_documents), 1)
        return _documents(table.take(list(range(0, len(table), step))))

    return read_kept(data.loaded, store, read)


def metadata_names(data: Data, store: Store) -> tuple[str, ...]:
    """Under which the documents of a data set say something, sorted. Raises DataError."""

    def read(entry: Entry) -> tuple[str, ...]:
        chunks = entry.part("documents")["metadata"].chunks
        return tuple(sorted({name for chunk in chunks for name in chunk.keys.unique().to_pylist()}))

    return read_kept(data.loaded, store, read)


def load_data(dataset: Dataset, store: Store, announce: Callable[[str], None] = lambda line: None) -> Data:
    """Loads a data set unless it is kept: its mistakes should be found before any work, and the plan needs its size.

    Raises DataError.
    """
    source = dataset.source if isinstance(dataset, DatasetOverSource) else None
    sources = (ReadSource(source, source.fingerprint()),) if source else ()
    loaded = LoadedBenchmark(dataset, dataset.fingerprint(), sources)
    if store.find(loaded.kind, loaded.key) is None:
        announce(f"loading {dataset.name} ...")
    content, notes = read_kept(loaded, store, lambda entry: (entry.parts()["content"], entry.parts()["notes"]))
    return Data(
        loaded,
        Corpus(content["documents"], loaded),
        Samples(content["samples"], loaded),
        content["n_documents"],
        content["n_samples"],
        tuple(content["corpus_prefixes"]),
        notes,
        content["language"],
        key_of([content["documents"], content["samples"]]),
        tuple(content["n_by_turn"]),
    )
