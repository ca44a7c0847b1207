"""The seven sets of the FinanceRAG challenge, each with a corpus of its own, as subsets of one benchmark.

Source: the ACM-ICAIF '24 FinanceRAG challenge; the expanded queries are those of the Multi-Reranker system.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import ClassVar

from components.datasets.assembly import assemble, limit_and_count
from components.datasets.beir_files import ANSWERS, CORPUS, QUERIES
from components.datasets.beir_set import BeirFiles, BeirSet, labelled, read_set
from components.datasets.reading import require_file, require_folder, sha256_of_files
from components.errors import ConfigError, DataError
from components.fields import runtime_only
from components.records import Benchmark, Documents

SETS = ("FinDER", "FinQABench", "FinanceBench", "TATQA", "FinQA", "ConvFinQA", "MultiHiertt")

_EXPECTED = f"the sets of the FinanceRAG challenge, one folder each ({', '.join(SETS)})"
_PREPARED, _QRELS, _FULL_QRELS = "queries_prep.jsonl", "qrels.tsv", "qrels_full.tsv"


class QueriesFile(StrEnum):
    """What is searched for: the question, or the question with the keywords that an expansion added."""

    ORIGINAL = "original"
    PREPARED = "prepared"


class QrelsFile(StrEnum):
    """The published judgements of about 30 % of the queries, or all that are there."""

    PUBLISHED = "published"
    FULL = "full"


@dataclass(frozen=True)
class FinanceRag:
    """The `sets` under `root`, each a subset by its name in lower case: a query is searched for in its own set alone.

    Every set has corpus.jsonl, queries.jsonl and qrels.tsv in BEIR's layout, and some have answers.jsonl. Ids begin
    with the subset's name. `queries` prepared searches for queries_prep.jsonl, and still asks the original question.
    `qrels` full takes qrels_full.tsv where a set has it, and names those that have none. A set without a corpus is an
    error, or with `skip_missing` left out, named and counted. `title_separator` as in `Beir`.
    """

    version: ClassVar[int] = 1

    root: str = runtime_only("", "the content of the files counts, through the fingerprint, not their place")
    sets: tuple[str, ...] = SETS
    queries: QueriesFile = QueriesFile.ORIGINAL
    qrels: QrelsFile = QrelsFile.PUBLISHED
    skip_missing: bool = False
    title_separator: str | None = "\n"
    limit: int | None = None
    limit_seed: int = 0

    @property
    def name(self) -> str:
        return "financerag"

    def check(self) -> list[str]:
        """What is wrong with the fields; reads no file."""
        mistakes = [] if self.root else [f"root: is empty; wanted the folder that holds {_EXPECTED}"]
        if not self.sets or len(set(self.sets)) < len(self.sets) or not set(self.sets) <= set(SETS):
            known = ", ".join(SETS)
            mistakes.append(f"sets: came {list(self.sets)}; wanted one or more, each once, of {known}")
        if self.limit is not None and self.limit < 1:
            mistakes.append(f"limit: came {self.limit}; wanted 1 or more, or null for all samples")
        return mistakes

    def fingerprint(self) -> str:
        """SHA-256 over the files of all sets that are read."""
        parts = {name: self._files(name).by_part() for name in self._present()}
        files = {f"{name}/{part}": file for name, of_set in parts.items() for part, file in of_set.items()}
        return sha256_of_files(files, _EXPECTED)

    def load(self) -> Benchmark:
        """The documents and queries of all sets, up to the limit. The notes hold the size of every set and its share of
        labelled queries, and, over all sets, the same counts as in `Beir`.

        Raises ConfigError if `check` finds a mistake, DataError for the files.
        """
        if mistakes := self.check():
            raise ConfigError(mistakes)
        loaded = {name: self._read_set(name) for name in self._present()}
        samples = [sample for part in loaded.values() for sample in part.samples]
        labels = {name.lower(): name for name in loaded}
        benchmark = assemble(
            self.root, _union(loaded), samples, labels, self._notes(loaded), references_required=False
        )
        return limit_and_count(benchmark, self.limit, self.limit_seed)

    def _present(self) -> list[str]:
        """The sets that have a corpus. Raises DataError for one without (unless such are skipped), and without any."""
        root = require_folder(Path(self.root), _EXPECTED)
        missing = [name for name in self.sets if not (root / name / CORPUS).is_file()]
        if missing and not self.skip_missing:
            raise DataError(
                f"{root / missing[0] / CORPUS}: no such file (the corpus of {', '.join(missing)} is missing). Fetch "
                "it, or choose the sets that are there by dataset.sets=[...], or leave it out by "
                "dataset.skip_missing=true."
            )
        present = [name for name in self.sets if name not in missing]
        if not present:
            raise DataError(f"{root}: none of the sets {', '.join(self.sets)} has a {CORPUS}. Wanted: {_EXPECTED}.")
        return present

    def _files(self, name: str) -> BeirFiles:
        folder = Path(self.root) / name
        answers = folder / ANSWERS
        return BeirFiles(
            corpus=folder / CORPUS,
            queries=folder / QUERIES,
            qrels=folder / (_FULL_QRELS if self.qrels is QrelsFile.FULL and self._has_full_qrels(name) else _QRELS),
            answers=answers if answers.is_file() else None,
            prepared=self._prepared(folder) if self.queries is QueriesFile.PREPARED else None,
        )

    def _has_full_qrels(self, name: str) -> bool:
        return (Path(self.root) / name / _FULL_QRELS).is_file()

    def _read_set(self, name: str) -> BeirSet:
        subset = name.lower()
        return read_set(self._files(name), subset, self.title_separator, within=f"{subset}/")
