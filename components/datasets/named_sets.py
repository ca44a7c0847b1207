"""Published data sets that `python -m runner.datasets fetch NAME` downloads, and the folder that holds them.

Source: the repositories `OWNER/NAME` and `OWNER/NAME-qrels` of the Hugging Face hub. BEIR's are by `BeIR`, with the
figures of BM25 in Thakur et al. 2021, "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information
Retrieval Models", table 2. The Chinese retrieval tasks of MTEB are by `C-MTEB`. We know no published BM25 figures for
them. The tasks of BRIGHT are in the single repository `xlangai/BRIGHT`, with the figures in Su et al. 2024, "BRIGHT: A
Realistic and Challenging Benchmark for Reasoning-Intensive Retrieval", table 2.

Entries are not pinned yet: they have neither revisions nor hashes. The first fetch takes the latest commit of the
branch `main`, and records it with the hashes in `MANIFEST`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import DataError

DATA_VARIABLE = "RAG_GRID_DATA"
MANIFEST = "manifest.json"
BY_HAND = "by-hand"
"""Name used instead of a commit, for files that were not downloaded by this program."""

_DEFAULT_FOLDER = "~/.cache/rag-grid/data"
_REVISION = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Pin:
    """Expected content of a file."""

    sha256: str
    n_bytes: int


@dataclass(frozen=True)
class NamedSet:
    """A data set of the hub: documents and queries in `repo`, judgements of `split` in `qrels_repo`.

    With a `task`, it is a task of BRIGHT: documents in `documents/TASK-*.parquet`, queries with the ids of their gold
    documents in `examples/TASK-*.parquet`.

    A revision of None stands for the first fetch of the branch `main`. `pins` has the expected files by their path in
    the repository. `licence` is the repository's stated licence. `bm25` is the published NDCG@10 of BM25, or None if
    unknown. `language` is the value of the option `language` that fits the data.
    """

    name: str
    bm25: float | None = None
    split: str = "test"
    licence: str = "cc-by-sa-4.0"
    revision: str | None = None
    qrels_revision: str | None = None
    pins: Mapping[str, Pin] = field(default_factory=dict)
    owner: str = "BeIR"
    language: str = "en"
    task: str = ""

    @property
    def repo(self) -> str:
        """The repository with documents and queries."""
        return _BRIGHT if self.task else f"{self.owner}/{self.name}"

    @property
    def qrels_repo(self) -> str:
        """The repository with judgements."""
        return _BRIGHT if self.task else f"{self.repo}-qrels"

    @property
    def parts(self) -> tuple[str, str, str]:
        """Names of the files of documents, queries and judgements, without endings."""
        if self.task:
            return f"documents/{self.task}", f"examples/{self.task}", f"examples/{self.task}"
        return "corpus", "queries", self.split


_BRIGHT = "xlangai/BRIGHT"
_BM25_ON_BRIGHT = {
    "biology": 0.189,
    "earth_science": 0.272,
    "economics": 0.149,
    "psychology": 0.125,
    "robotics": 0.136,
    "stackoverflow": 0.184,
    "sustainable_living": 0.150,
    "pony": 0.079,
}
"""The tasks whose queries exclude no documents from their own results."""

_CHINESE = (
    "CmedqaRetrieval",
    "CovidRetrieval",
    "DuRetrieval",
    "EcomRetrieval",
    "MMarcoRetrieval",
    "MedicalRetrieval",
    "T2Retrieval",
    "VideoRetrieval",
)

NAMED_SETS: dict[str, NamedSet] = {
    each.name: each
    for each in (
        NamedSet("arguana", 0.315),
        NamedSet("climate-fever", 0.213),
        NamedSet("dbpedia-entity", 0.313),
        NamedSet("fever", 0.753),
        NamedSet("fiqa", 0.236),
        NamedSet("hotpotqa", 0.603),
        NamedSet("msmarco", 0.228, split="dev"),
        NamedSet("nfcorpus", 0.325),
        NamedSet("nq", 0.329),
        NamedSet("quora", 0.789),
        NamedSet("scidocs", 0.158),
        NamedSet("scifact", 0.665),
        NamedSet("trec-covid", 0.656),
        NamedSet("webis-touche2020", 0.367),
        *(NamedSet(name, split="dev", licence="not stated", owner="C-MTEB", language="zh") for name in _CHINESE),
        *(NamedSet(f"bright-{task}", bm25, licence="cc-by-4.0", task=task) for task, bm25 in _BM25_ON_BRIGHT.items()),
    )
}


def data_folder() -> Path:
    """Return the folder of fetched data sets: RAG_GRID_DATA, or ~/.cache/rag-grid/data."""
    return Path(os.environ.get(DATA_VARIABLE, "").strip() or _DEFAULT_FOLDER).expanduser().absolute()


def fetch_folder(named: NamedSet) -> Path | None:
    """Return the folder of a fetched data set, or None if it was not fetched.

    Raises DataError if several revisions were fetched and `named` does not pin one.
    """
    if named.revision:
        pinned = data_folder() / named.name / named.revision
        return pinned if (pinned / MANIFEST).is_file() else None
    revisions = _revisions(data_folder() / named.name)
    if len(revisions) > 1:
        names = ", ".join(revision.name for revision in revisions)
        raise DataError(
            f"{revisions[0].parent}: has {len(revisions)} revisions of {named.name} ({names}), expected one. "
            f"Choose one with dataset.root={revisions[0]}, or delete the others."
        )
    return revisions[0] if revisions else None


def require_fetched(name: str) -> Path:
    """Return the folder of the data set `name`. If it is missing, raise DataError with the command that fetches it."""
    folder = fetch_folder(NAMED_SETS[name])
    if folder is None:
        raise DataError(
            f"dataset.name={name}: not found in {data_folder() / name}. Fetch it with: python -m runner.datasets fetch "
            f"{name}. If it is in another folder, set {DATA_VARIABLE} or dataset.root."
        )
    return folder


def _revisions(folder: Path) -> list[Path]:
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if (_REVISION.fullmatch(path.name) or path.name == BY_HAND) and (path / MANIFEST).is_file()
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be listed ({error.strerror}). Choose a folder with {DATA_VARIABLE}."
        ) from error
