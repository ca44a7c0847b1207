"""The seven sets of the FinanceRAG challenge, each with a corpus of its own, as subsets of one benchmark.

Source: the ACM-ICAIF '24 FinanceRAG challenge; the expanded queries are those of the Multi-Reranker system.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from components.datasets.assembly import assemble, limit_and_count
from components.datasets.beir_files import (
    ANSWERS,
    CORPUS,
    QUERIES,
    Qrels,
    gold_of,
    read_answers,
    read_corpus,
    read_qrels,
    read_queries,
    share_labelled,
)
from components.datasets.reading import require_file, require_folder, sha256_of_files
from components.errors import ConfigError, DataError
from components.fields import runtime_only
from components.records import Benchmark, Documents, Kind, Sample

SETS = ("FinDER", "FinQABench", "FinanceBench", "TATQA", "FinQA", "ConvFinQA", "MultiHiertt")

_EXPECTED = f"the sets of the FinanceRAG challenge, one folder each ({', '.join(SETS)})"
_PREPARED, _QRELS, _FULL_QRELS = "queries_prep.jsonl", "qrels.tsv", "qrels_full.tsv"


class Queries(StrEnum):
    """What is searched for: the question, or the question with the keywords that an expansion added."""

    ORIGINAL = "original"
    PREPARED = "prepared"


class Judgements(StrEnum):
    """The published judgements of about 30 % of the queries, or all that are there."""

    PUBLISHED = "published"
    FULL = "full"


@dataclass(frozen=True)
class FinanceRag:
    """The `sets` under `root`, each a subset by its name in lower case: a query is searched for in its own set alone.

    Every set has corpus.jsonl, queries.jsonl and qrels.tsv in BEIR's layout, and some have answers.jsonl. Ids begin
    with the subset's name. `queries` prepared searches for queries_prep.jsonl, and still asks the original question.
    `qrels` full takes qrels_full.tsv where a set has it, and counts those that have none. A set without a corpus is an
    error, or with `skip_missing` left out, named and counted. `title_separator` as in `Beir`.
    """

    version: ClassVar[int] = 1

    root: str = runtime_only("", "the content of the files counts, through the fingerprint, not their place")
    sets: tuple[str, ...] = SETS
    queries: Queries = Queries.ORIGINAL
    qrels: Judgements = Judgements.PUBLISHED
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
        if unknown := [name for name in self.sets if name not in SETS]:
            mistakes.append(f"sets: got {', '.join(unknown)}, wanted any of {', '.join(SETS)}")
        if not self.sets or len(set(self.sets)) < len(self.sets):
            mistakes.append(f"sets: got {list(self.sets)}, wanted one or more, each once")
        if self.limit is not None and self.limit < 1:
            mistakes.append(f"limit: came {self.limit}; wanted 1 or more, or null for all samples")
        return mistakes

    def fingerprint(self) -> str:
        """SHA-256 over the files of all sets that are read."""
        files = {f"{name}/{part}": file for name in self._present() for part, file in self._files(name).items()}
        return sha256_of_files(files, _EXPECTED)

    def load(self) -> Benchmark:
        """The documents and queries of all sets. Raises ConfigError if `check` finds a mistake, DataError."""
        if mistakes := self.check():
            raise ConfigError(mistakes)
        present = self._present()
        loaded = [self._load_set(name) for name in present]
        documents = Documents(*(_joined(loaded, column) for column in ("ids", "titles", "texts")))
        samples = [sample for part in loaded for sample in part.samples]
        skipped = [name for name in self.sets if name not in present]
        notes: dict[str, int | float | str] = {"n_sets_skipped": len(skipped)}
        if skipped:
            notes["sets_skipped"] = ", ".join(skipped)
        for part in loaded:
            notes |= part.notes
        notes["share_labelled"] = share_labelled(samples)
        labels = {name.lower(): name for name in present}
        benchmark = assemble(self.root, documents, samples, labels, notes, references_required=False)
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

    def _files(self, name: str) -> dict[str, Path]:
        folder = Path(self.root) / name
        full = self.qrels is Judgements.FULL and (folder / _FULL_QRELS).is_file()
        files = {
            "corpus": folder / CORPUS,
            "queries": folder / QUERIES,
            "qrels": folder / (_FULL_QRELS if full else _QRELS),
        }
        if self.queries is Queries.PREPARED:
            files["prepared"] = require_file(folder / _PREPARED, "the expanded queries of the set")
        return files | ({"answers": folder / ANSWERS} if (folder / ANSWERS).is_file() else {})

    def _load_set(self, name: str) -> "_LoadedSet":
        files, subset = self._files(name), name.lower()
        documents = read_corpus(files["corpus"], self.title_separator)
        queries, qrels = read_queries(files["queries"]), read_qrels(files["qrels"])
        prepared = read_queries(files["prepared"]) if "prepared" in files else {}
        answers = read_answers(files["answers"]) if "answers" in files else {}
        samples = [
            Sample(
                id=f"{subset}/{query_id}",
                subset=subset,
                kind=Kind.QA,
                question=text,
                references=answers.get(query_id, ()),
                gold=gold_of(qrels.grades.get(query_id, {}), f"{subset}/"),
                query=prepared.get(query_id, ""),
                within=f"{subset}/",
            )
            for query_id, text in queries.items()
        ]
        ids = [f"{subset}/{document_id}" for document_id in documents.ids]
        notes = self._notes(subset, samples, queries, prepared, qrels, files)
        return _LoadedSet(Documents(ids, documents.titles, documents.texts), samples, notes)

    def _notes(
        self,
        subset: str,
        samples: list[Sample],
        queries: Mapping[str, str],
        prepared: Mapping[str, str],
        qrels: Qrels,
        files: Mapping[str, Path],
    ) -> dict[str, int | float]:
        notes: dict[str, int | float] = {
            f"n_queries_{subset}": len(samples),
            f"n_labelled_{subset}": sum(bool(sample.gold) for sample in samples),
            f"share_labelled_{subset}": share_labelled(samples),
            f"n_qrels_of_unknown_queries_{subset}": len(qrels.grades.keys() - queries.keys()),
        }
        if self.queries is Queries.PREPARED:
            notes[f"n_queries_not_prepared_{subset}"] = len(queries.keys() - prepared.keys())
        if self.qrels is Judgements.FULL:
            notes[f"has_full_qrels_{subset}"] = int(files["qrels"].name == _FULL_QRELS)
        return notes


@dataclass(frozen=True)
class _LoadedSet:
    documents: Documents
    samples: Sequence[Sample]
    notes: Mapping[str, int | float]


def _joined(loaded: Sequence[_LoadedSet], column: str) -> list[str]:
    return [value for part in loaded for value in getattr(part.documents, column)]
