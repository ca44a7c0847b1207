"""Data sets in BEIR's layout: a folder with a corpus, queries and relevance judgements."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.assembly import assemble, limit_and_count, require_some_gold_in_corpus
from components.datasets.beir_files import ANSWERS, CORPUS, QUERIES
from components.datasets.beir_set import BeirFiles, label_counts, read_set
from components.datasets.data_files import optional_file, require_folder, sha256_of_files
from components.datasets.labels import name_problems
from components.datasets.named_sets import NAMED_SETS, require_fetched
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError
from components.fields import added_later, runtime_only
from components.records import Benchmark
from components.subsets import UNNAMED

_EXPECTED = "a data set in BEIR's layout: corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv"
_QRELS = ("qrels.tsv", "qrels/test.tsv")


class Gold(StrEnum):
    """The relevant documents that a question needs: all of them, or any one."""

    ALL = "all"
    ANY = "any"


@dataclass(frozen=True)
class Beir:
    """The folder `root` with corpus.jsonl, `queries_file` and `qrels_file`, and answers.jsonl if it has one.

    With an empty `root`, `name` is the name of a fetched data set, such as scifact.
    Without answers.jsonl, which holds reference answers, the data set tests retrieval only. An empty `qrels_file`
    means qrels.tsv or qrels/test.tsv. A document's text, which is chunked and searched, begins with its title (if it
    has one) and `title_separator`; None keeps titles out of the text. All samples belong to the subset `subset`.
    Queries without a relevant document are kept. `gold` says whether a query needs all of its relevant documents,
    because judgements do not.
    """

    version: ClassVar[int] = 2

    root: str = runtime_only("", "the fingerprint covers the content of the files, not their paths")
    subset: str = UNNAMED
    queries_file: str = QUERIES
    qrels_file: str = ""
    title_separator: str | None = "\n"
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    name: str = runtime_only("beir", "the name of a data set does not change its content")
    gold: Gold = added_later(Gold.ALL)
    groups: Groups = groups_field()

    def check(self) -> list[str]:
        """Return one message per error in the fields. Reads no file."""
        problems = [] if self.root or self.name in NAMED_SETS else [_missing_root(self.name)]
        if not re.fullmatch(r"[a-z0-9_]+(/[a-z0-9_]+)*", self.subset):
            problems.append(f"subset: got '{self.subset}', expected a name of a-z, 0-9 and _, such as nfcorpus")
        return [*problems, *limit_problems(self.limit, self.max_documents), *name_problems(self.name)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the files that `load` reads."""
        return sha256_of_files(self._files().by_part(), _EXPECTED)

    def load(self) -> Benchmark:
        """Return all documents, and one sample per query up to the limit.

        The notes count queries without judgements, and judgements that are not relevant, repeated, or about unknown
        queries and documents. Raises ConfigError if `check` finds an error, DataError for errors in the files.
        """
        if problems := self.check():
            raise ConfigError(problems)
        beir_set = read_set(self._files(), self.subset, self.title_separator, any_suffices=self.gold is Gold.ANY)
        notes = {**label_counts(beir_set.samples), **beir_set.counts}
        root = str(self._root())
        benchmark = assemble(root, beir_set.documents, beir_set.samples, {}, notes, references_required=False)
        require_some_gold_in_corpus(benchmark, root, "Choose the judgements of this corpus with qrels_file.")
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)

    def _files(self) -> BeirFiles:
        root = require_folder(self._root(), _EXPECTED)
        qrels = root / self.qrels_file if self.qrels_file else _find_qrels(root)
        return BeirFiles(root, root / CORPUS, root / self.queries_file, qrels, optional_file(root / ANSWERS))

    def _root(self) -> Path:
        return Path(self.root) if self.root else require_fetched(self.name)


def _missing_root(name: str) -> str:
    text = f"root: is empty, expected the folder of {_EXPECTED}"
    names = f"one of {', '.join(sorted(NAMED_SETS))}"
    return f"{text}. Set it, or set dataset.name to {names}" + ("" if name == "beir" else f", got {name!r}")


def _find_qrels(root: Path) -> Path:
    files = [root / name for name in _QRELS if (root / name).is_file()]
    if not files:
        raise DataError(f"{root}: has neither {' nor '.join(_QRELS)}, expected {_EXPECTED}")
    if len(files) > 1:
        raise DataError(f"{root}: has both {' and '.join(_QRELS)}. Choose one with dataset.qrels_file.")
    return files[0]
