"""The seven sets of the FinanceRAG challenge, each with a separate corpus, as subsets of one benchmark.

Source: the ACM-ICAIF '24 FinanceRAG challenge. The expanded queries come from the Multi-Reranker system.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.assembly import assemble, limit_and_count
from components.datasets.beir_files import ANSWERS, CORPUS, QUERIES
from components.datasets.beir_set import BeirFiles, BeirSet, label_counts, read_set
from components.datasets.data_files import optional_file, require_folder, sha256_of_files
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError
from components.fields import runtime_only
from components.records import Benchmark, Documents

SETS = ("FinDER", "FinQABench", "FinanceBench", "TATQA", "FinQA", "ConvFinQA", "MultiHiertt")

_EXPECTED = f"the sets of the FinanceRAG challenge, one folder each ({', '.join(SETS)})"
_PREPARED, _QRELS, _FULL_QRELS = "queries_prep.jsonl", "qrels.tsv", "qrels_full.tsv"


class QueriesFile(StrEnum):
    """The text to search for.

    - original: the question;
    - prepared: the question with the keywords of a query expansion;
    - both: both are read, and the expander chooses.
    """

    ORIGINAL = "original"
    PREPARED = "prepared"
    BOTH = "both"


class QrelsFile(StrEnum):
    """The published judgements of about 30% of the queries, or all judgements of the sets that have them."""

    PUBLISHED = "published"
    FULL = "full"


@dataclass(frozen=True)
class FinanceRag:
    """The `sets` under `root`. Each is a subset, with its name in lower case. A query searches only its set.

    Every set has corpus.jsonl, queries.jsonl and qrels.tsv in BEIR's layout, and some have answers.jsonl. Ids begin
    with the subset's name.

    - `queries`: `prepared` searches for the texts of queries_prep.jsonl, but still asks the original question. `both`
      keeps these texts as expansions, for expander=published.
    - `qrels`: `full` reads qrels_full.tsv where a set has it, and the notes name the sets that do not.
    - `skip_missing`: sets without a corpus are skipped, and the notes name them. Otherwise they are errors.
    - `title_separator`: as in `Beir`.
    """

    version: ClassVar[int] = 2

    root: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    sets: tuple[str, ...] = SETS
    queries: QueriesFile = QueriesFile.ORIGINAL
    qrels: QrelsFile = QrelsFile.PUBLISHED
    skip_missing: bool = False
    title_separator: str | None = "\n"
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    groups: Groups = groups_field()

    @property
    def name(self) -> str:
        return "financerag"

    def check(self) -> list[str]:
        """Return one message per error in the fields. Reads no file."""
        problems = [] if self.root else [f"root: is empty, expected the folder that holds {_EXPECTED}"]
        if not self.sets or len(set(self.sets)) < len(self.sets) or not set(self.sets) <= set(SETS):
            known = ", ".join(SETS)
            problems.append(f"sets: got {list(self.sets)}, expected at least one of {known}, each once")
        return [*problems, *limit_problems(self.limit, self.max_documents)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the files of all sets that `load` reads."""
        parts = {name: self._files(name).by_part() for name in self._find_sets()}
        files = {f"{name}/{part}": file for name, set_files in parts.items() for part, file in set_files.items()}
        return sha256_of_files(files, _EXPECTED)

    def load(self) -> Benchmark:
        """Return the documents of all sets, and their queries up to the limit.

        The notes hold the size of each set and its share of queries with gold and, over all sets, the counts of `Beir`.
        Raises ConfigError if `check` finds an error, DataError for errors in the files.
        """
        if problems := self.check():
            raise ConfigError(problems)
        loaded = {name: self._read_set(name) for name in self._find_sets()}
        samples = [sample for part in loaded.values() for sample in part.samples]
        labels = {name.lower(): name for name in loaded}
        documents, notes = _union(loaded.values()), self._notes(loaded)
        benchmark = assemble(self.root, documents, samples, labels, notes, references_required=False)
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)

    def _find_sets(self) -> list[str]:
        """Return the sets with a corpus. Raises DataError if one is missing (unless skipped), or if all are missing."""
        root = require_folder(Path(self.root), _EXPECTED)
        missing = [name for name in self.sets if not (root / name / CORPUS).is_file()]
        if missing and not self.skip_missing:
            raise DataError(
                f"{root / missing[0] / CORPUS}: does not exist (the corpus of {', '.join(missing)} is missing). "
                "Fetch it, choose other sets with dataset.sets=[...], or skip missing sets with "
                "dataset.skip_missing=true."
            )
        present = [name for name in self.sets if name not in missing]
        if not present:
            raise DataError(f"{root}: none of the sets {', '.join(self.sets)} has a {CORPUS}, expected {_EXPECTED}")
        return present

    def _files(self, name: str) -> BeirFiles:
        folder = Path(self.root) / name
        return BeirFiles(
            root=Path(self.root),
            corpus=folder / CORPUS,
            queries=folder / QUERIES,
            qrels=folder / (_FULL_QRELS if self.qrels is QrelsFile.FULL and self._has_full_qrels(name) else _QRELS),
            answers=optional_file(folder / ANSWERS),
            prepared=folder / _PREPARED if self.queries is not QueriesFile.ORIGINAL else None,
        )

    def _has_full_qrels(self, name: str) -> bool:
        return optional_file(Path(self.root) / name / _FULL_QRELS) is not None

    def _read_set(self, name: str) -> BeirSet:
        subset = name.lower()
        read = read_set(self._files(name), subset, self.title_separator, corpus_prefix=f"{subset}/")
        if self.queries is not QueriesFile.BOTH:
            return read
        return replace(read, samples=[replace(sample, query="", expansion=sample.query) for sample in read.samples])

    def _notes(self, loaded: Mapping[str, BeirSet]) -> dict[str, int | float | str]:
        notes: dict[str, int | float | str] = {}
        for name, part in loaded.items():
            n_documents = sum(bool(text.strip()) for text in part.documents.texts)
            sizes = {"n_documents": n_documents, **label_counts(part.samples)}
            notes |= {f"{size}_{name.lower()}": value for size, value in sizes.items()}
        for count in next(iter(loaded.values())).counts:
            notes[count] = sum(part.counts[count] for part in loaded.values())
        notes |= label_counts([sample for part in loaded.values() for sample in part.samples])
        notes |= _as_notes("sets_skipped", [name for name in self.sets if name not in loaded])
        if self.qrels is QrelsFile.FULL:
            notes |= _as_notes("sets_without_full_qrels", [name for name in loaded if not self._has_full_qrels(name)])
        return notes


def _as_notes(what: str, names: Sequence[str]) -> dict[str, int | str]:
    """Return the number of names, and the names if there are any, as notes."""
    return {f"n_{what}": len(names), **({what: ", ".join(names)} if names else {})}


def _union(parts: Iterable[BeirSet]) -> Documents:
    documents = [part.documents for part in parts]
    return Documents(
        [an_id for corpus in documents for an_id in corpus.ids],
        [title for corpus in documents for title in corpus.titles],
        [text for corpus in documents for text in corpus.texts],
    )
