"""The data set: loading it, and telling its corpus from its samples, so that each is keyed by its own content."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import Dataset, DatasetOverSource, Source
from components.records import Benchmark, Documents, Sample
from components.text.languages import detect_language
from runner.engine.broken_contracts import named_errors
from runner.engine.codecs import Codec, Parts
from runner.engine.identity import key_of
from runner.engine.outdated import discard, outdated
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult
from runner.engine.worker import read_kept
from runner.pipeline.corpus.document_table import documents_of, documents_part
from runner.pipeline.corpus.partition import DOCUMENTS_PER_BLOCK, CorpusPartition, CorpusParts
from runner.pipeline.corpus.sample_codec import decode_samples, encode_samples

_N_HASH = 16


class BenchmarkCodec:
    """Documents as a table, samples as JSON, `content`: hashes of both, so that what is computed from one of them is
    kept when only the other changes, and `hashes` of the single documents.
    """

    def encode(self, result: Benchmark) -> Parts:
        """Documents, samples, notes, labels, content."""
        documents = result.documents
        samples = encode_samples(result.samples)
        questions = [sample.question for sample in result.samples]
        labels = [list(item) for item in result.labels.items()]
        hashes = _hashes(documents)
        return {
            "content": {
                "documents": sha256(hashes.tobytes()).hexdigest(),
                "samples": key_of([samples, labels]),
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
        """The benchmark."""
        return Benchmark(documents_of(parts), decode_samples(parts["samples"]), parts["notes"], dict(parts["labels"]))


def _hashes(documents: Documents) -> NDArray[np.uint8]:
    """uint8[n_documents, 16]: a hash of all that is said of each document."""
    hashes = np.empty((len(documents), _N_HASH), dtype=np.uint8)
    for row, texts in enumerate(zip(documents.ids, documents.titles, documents.texts, strict=True)):
        # Pairs, since prompts show facts in their order.
        facts = [item for pair in documents.metadata[row].items() for item in pair] if documents.metadata else []
        encoded = [text.encode() for text in (*texts, *facts)]
        own = blake2b(" ".join(str(len(text)) for text in encoded).encode(), digest_size=_N_HASH)
        for text in encoded:
            own.update(text)
        hashes[row] = np.frombuffer(own.digest(), dtype=np.uint8)
    return hashes


def _n_by_turn(samples: Sequence[Sample]) -> list[int]:
    """How many samples have no earlier turn, one, two, and so on."""
    counts = Counter(len(sample.history) for sample in samples)
    return [counts[n_earlier] for n_earlier in range(max(counts, default=0) + 1)]


class CorpusCodec:
    """Documents as one table, of texts that may stay on the disk."""

    def encode(self, result: Documents) -> Parts:
        """The table."""
        return {"documents": documents_part(result)}

    def decode(self, parts: Parts) -> Documents:
        """The documents."""
        return documents_of(parts)


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
        return {"documents": documents_part(result.documents), "counts": dict(result.counts)}

    def decode(self, parts: Parts) -> SourceDocuments:
        """Both."""
        return SourceDocuments(documents_of(parts), parts["counts"])


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
        """Reads them. Raises DataError, also for files that change meanwhile."""
        read = SourceDocuments(*self.source.read())
        _require_unchanged(self.source, self.fingerprint)
        return read


@dataclass(frozen=True, eq=False)
class LoadedBenchmark(Stage[Benchmark]):
    """The data set as its loader gives it; `fingerprint` is the hash of the files that it reads."""

    kind: ClassVar[str] = "data"
    version: ClassVar[int] = 8
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Benchmark]] = BenchmarkCodec()

    dataset: Dataset
    fingerprint: str
    sources: tuple[ReadSource, ...] = ()

    def make(self, run: Run) -> Benchmark:
        """Loads it. Raises DataError, also for files that change meanwhile."""
        loaded = self._loaded(run)
        _require_unchanged(self.dataset, self.fingerprint)
        return loaded

    def _loaded(self, run: Run) -> Benchmark:
        for stage in self.sources:  # one at most
            if isinstance(self.dataset, DatasetOverSource):
                read = run.read(stage)
                return self.dataset.load_over(read.documents, read.counts)
        return self.dataset.load()


def _require_unchanged(files: Dataset | Source, fingerprint: str) -> None:
    """Raises DataError if the files are others than those that `fingerprint` is the hash of."""
    if files.fingerprint() != fingerprint:
        raise DataError(
            f"{type(files).__name__}: its files changed while they were read. Give the same command again once nobody "
            "writes to them"
        )


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
        return documents_of(run.parts(self.data))


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
    parts: CorpusParts


def some_documents(data: Data, store: Store, n_documents: int) -> Documents:
    """At most so many documents, from all over the corpus. Raises DataError."""

    def read(entry: StoredResult) -> Documents:
        documents = documents_of(entry.parts())
        return documents.at(range(0, len(documents), max(-(-len(documents) // n_documents), 1)))

    return read_kept(data.loaded, store, read)


def metadata_names(data: Data, store: Store) -> tuple[str, ...]:
    """Under which the documents of a data set say something, sorted. Raises DataError."""

    def read(entry: StoredResult) -> tuple[str, ...]:
        return tuple(sorted({name for facts in documents_of(entry.parts()).metadata for name in facts}))

    return read_kept(data.loaded, store, read)


def load_data(
    dataset: Dataset,
    store: Store,
    announce: Callable[[str], None] = lambda line: None,
    documents_per_block: int = DOCUMENTS_PER_BLOCK,
    fresh: Collection[str] = (),
) -> Data:
    """Loads a data set unless it is kept: its mistakes should be found before any work, and the plan needs its size and
    its blocks, of at most so many documents. What is kept of kinds in `fresh` is read again if other versions of
    libraries read it.

    Raises DataError, and ComponentError if a data set of another package than ours raises or returns something else.
    """
    source = dataset.source if isinstance(dataset, DatasetOverSource) else None
    sources = (ReadSource(source, source.fingerprint()),) if source else ()
    loaded = LoadedBenchmark(dataset, dataset.fingerprint(), sources)
    discard(outdated((*sources, loaded), fresh, store), store)
    if store.find(loaded.kind, loaded.key) is None:
        announce(f"loading {dataset.name} ...")
    remedy = "Mend the class: its `load` returns a Benchmark"
    with named_errors(dataset, "the data set cannot be loaded or stored", remedy, passing=OSError):
        content, notes = read_kept(loaded, store, lambda entry: (entry.parts()["content"], entry.parts()["notes"]))
    corpus = Corpus(content["documents"], loaded)
    prefixes = tuple(content["corpus_prefixes"])
    partition = CorpusPartition(corpus.content, documents_per_block, prefixes, loaded)
    return Data(
        loaded,
        corpus,
        Samples(content["samples"], loaded),
        content["n_documents"],
        content["n_samples"],
        prefixes,
        notes,
        content["language"],
        key_of([content["documents"], content["samples"]]),
        tuple(content["n_by_turn"]),
        read_kept(partition, store, lambda entry: CorpusParts.of(partition, entry.parts())),
    )
