"""Any data set in BEIR's layout: a folder with a corpus, queries and judgements of relevance."""

from dataclasses import dataclass
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
from components.datasets.reading import require_folder, sha256_of_files
from components.errors import ConfigError, DataError
from components.fields import runtime_only
from components.records import Benchmark, Kind, Sample

_EXPECTED = "a data set in BEIR's layout: corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv"
_QRELS = ("qrels.tsv", "qrels/test.tsv")


@dataclass(frozen=True)
class Beir:
    """The folder `root`, with corpus.jsonl, `queries_file`, `qrels_file` ("" for qrels.tsv or qrels/test.tsv, whichever
    is there) and, if there are any, reference answers in answers.jsonl. Without those it is for retrieval alone.

    `title_separator` stands between title and text in what is chunked and searched; None leaves the title out of it.
    All samples are of the subset `subset`. Queries without a relevant document are kept, and counted in the notes.
    """

    version: ClassVar[int] = 1

    root: str = runtime_only("", "the content of the files counts, through the fingerprint, not their place")
    subset: str = "all"
    queries_file: str = QUERIES
    qrels_file: str = ""
    title_separator: str | None = "\n"
    limit: int | None = None
    limit_seed: int = 0

    @property
    def name(self) -> str:
        return "beir"

    def check(self) -> list[str]:
        """What is wrong with the fields; reads no file."""
        mistakes = [] if self.root else [f"root: is empty; wanted the folder of {_EXPECTED}"]
        if self.limit is not None and self.limit < 1:
            mistakes.append(f"limit: came {self.limit}; wanted 1 or more, or null for all samples")
        return mistakes

    def fingerprint(self) -> str:
        """SHA-256 over the files that are read."""
        return sha256_of_files(self._files(), _EXPECTED)

    def load(self) -> Benchmark:
        """All documents, and one sample per query up to the limit. Raises ConfigError if `check` finds a mistake,
        DataError.
        """
        if mistakes := self.check():
            raise ConfigError(mistakes)
        files = self._files()
        documents = read_corpus(files["corpus"], self.title_separator)
        queries, qrels = read_queries(files["queries"]), read_qrels(files["qrels"])
        answers = read_answers(files["answers"]) if "answers" in files else {}
        samples = [
            Sample(query_id, self.subset, Kind.QA, text, answers.get(query_id, ()), gold_of(_grades(qrels, query_id)))
            for query_id, text in queries.items()
        ]
        notes = {
            **qrels.counts,
            "n_qrels_of_unknown_queries": len(qrels.grades.keys() - queries.keys()),
            "n_answers_of_unknown_queries": len(answers.keys() - queries.keys()),
            "share_labelled": share_labelled(samples),
        }
        benchmark = assemble(self.root, documents, samples, {}, notes, references_required=False)
        return limit_and_count(benchmark, self.limit, self.limit_seed)

    def _files(self) -> dict[str, Path]:
        root = require_folder(Path(self.root), _EXPECTED)
        files = {"corpus": root / CORPUS, "queries": root / self.queries_file, "qrels": self._qrels(root)}
        return files | ({"answers": root / ANSWERS} if (root / ANSWERS).is_file() else {})

    def _qrels(self, root: Path) -> Path:
        if self.qrels_file:
            return root / self.qrels_file
        found = [root / name for name in _QRELS if (root / name).is_file()]
        if not found:
            raise DataError(f"{root}: neither {' nor '.join(_QRELS)} is there. Expected here: {_EXPECTED}.")
        if len(found) > 1:
            raise DataError(f"{root}: both {' and '.join(_QRELS)} are there. Choose one by qrels_file.")
        return found[0]


def _grades(qrels: Qrels, query_id: str) -> dict[str, int]:
    return dict(qrels.grades.get(query_id, {}))
