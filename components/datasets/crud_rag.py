"""CRUD-RAG in its published layout: a folder of Chinese news, one document per line, and a file with lists of items.

Source: Lyu et al. 2024, "CRUD-RAG: A Comprehensive Chinese Benchmark for Retrieval-Augmented Generation of LLMs".
Gold is matched to the corpus by text; see `crud_gold`. Most gold news texts are not in the published corpus.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.assembly import assemble, limit_and_count
from components.datasets.crud_gold import match_gold
from components.datasets.crud_split import EXPECTED as EXPECTED_SPLIT
from components.datasets.crud_split import SUBSETS, read_split
from components.datasets.data_files import (
    abbreviate_names,
    check_path,
    read_lines,
    require_inside,
    sha256_of_files,
    visible_entries,
)
from components.datasets.labels import CRUD_LABELS
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError
from components.fields import runtime_only
from components.records import Benchmark, Documents

_EXPECTED_CORPUS = "CRUD-RAG's corpus, text files with one document per line"
_CORPUS_FILE = re.compile(r"(documents_\S+_)?part(_[0-9]+)?")
"""The published names are like documents_dup_part_10_part_2 and documents_hallu.txt_part_1."""
_PART_NUMBER = re.compile(r"(?<=part_)[0-9]+")


@dataclass(frozen=True)
class CrudRag:
    """The published data under `root`. A document's id is "<file name>:<line number>", a sample's "<subset>/<ID>".

    With `add_gold`, gold news texts of QA items that do not occur in the corpus are added to it as "gold:<hash>". A
    text occurs if at least the share `gold_overlap` of its characters does, in one document or in two. With
    `merge_duplicates`, only the first of several documents with the same text is kept. Otherwise all are kept, and the
    first is the gold. `accept_truncated` uses the complete records of a split file that was cut off. The notes count
    documents and gold texts that were read, merged, found and added, and name chosen subsets without items and
    the first gaps in the numbers of corpus files.
    """

    version: ClassVar[int] = 4

    root: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    subsets: tuple[str, ...] = tuple(SUBSETS)
    add_gold: bool = True
    merge_duplicates: bool = True
    gold_overlap: float = 0.8
    accept_truncated: bool = False
    split_file: str = "crud_split/split_merged.json"
    corpus_folder: str = "80000_docs"
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    groups: Groups = groups_field()

    @property
    def name(self) -> str:
        return "crud_rag"

    def check(self) -> list[str]:
        """Return one message per error in the fields. Reads no file."""
        problems = [] if self.root else ["root: is empty, expected the folder that holds CRUD-RAG's data"]
        unknown = [subset for subset in self.subsets if subset not in SUBSETS]
        if unknown or not self.subsets or len(set(self.subsets)) < len(self.subsets):
            known = ", ".join(SUBSETS)
            problems.append(f"subsets: got {list(self.subsets)}, expected at least one of {known}, each once")
        if not 0 < self.gold_overlap <= 1:
            problems.append(f"gold_overlap: got {self.gold_overlap}, expected a share above 0 and up to 1")
        return [*problems, *limit_problems(self.limit, self.max_documents)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the names and contents of the split file and the corpus files."""
        files = {f"corpus/{file.name}": file for file in self._corpus_files()}
        return sha256_of_files({"split": self._split_path, **files}, EXPECTED_SPLIT)

    def load(self) -> Benchmark:
        """Return the corpus with the added gold, and the samples of the chosen subsets.

        Raises ConfigError if `check` finds an error, DataError for errors in the files.
        """
        if problems := self.check():
            raise ConfigError(problems)
        split = read_split(self._split_path, self.subsets, self.accept_truncated)
        corpus = self._read_corpus()
        documents, n_duplicates = _merge_duplicates(corpus) if self.merge_duplicates else (corpus, 0)
        gold = match_gold(documents, split.items, self.gold_overlap, self.add_gold)
        samples = [replace(item.sample, gold=gold.collect_evidence(item)) for item in split.items]
        notes = {
            "n_documents_read": len(corpus),
            "n_duplicates_merged": n_duplicates,
            "n_split_files_cut_off": int(split.is_truncated),
            "n_subsets_without_items": len(split.empty),
            **({"subsets_without_items": ", ".join(split.empty)} if split.empty else {}),
            "n_gold_texts_missing": sum(item.n_gold_missing for item in split.items),
            **_gaps([file.name for file in self._corpus_files()]),
            **gold.counts(),
        }
        benchmark = assemble(self.root, _with_documents(documents, gold.added), samples, CRUD_LABELS, notes)
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)

    @property
    def _split_path(self) -> Path:
        root = Path(self.root)
        return require_inside(root / self.split_file, [root], EXPECTED_SPLIT)

    def _corpus_files(self) -> list[Path]:
        """Return all files that are not hidden. A broken link is included: reading it must fail, not be skipped.

        Raises DataError for a folder without files, for folders among them, and for files with other names than the
        published ones, such as a README, whose lines would become documents, and for empty files.
        """
        root = Path(self.root)
        folder = root / self.corpus_folder
        files = visible_entries(folder, _EXPECTED_CORPUS)
        if nested := [file.name for file in files if check_path(file, Path.is_dir, _EXPECTED_CORPUS)]:
            raise DataError(
                f"{folder}: contains the folders {_quote_names(nested)}, expected files only: {_EXPECTED_CORPUS}. Move "
                "their files up, or move the folders elsewhere."
            )
        if others := [file.name for file in files if not _CORPUS_FILE.fullmatch(file.name)]:
            raise DataError(
                f"{folder}: contains the files {_quote_names(others)}, expected the names documents_..._part_<number>, "
                f"as published, part_<number> or part: {_EXPECTED_CORPUS}. Move files that are not documents "
                "elsewhere, and rename the files of documents."
            )
        if not files:
            raise DataError(f"{folder}: contains no file, expected {_EXPECTED_CORPUS}. Fetch the missing files.")
        inside = [require_inside(file, [root, folder], _EXPECTED_CORPUS) for file in files]
        if empty := [file.name for file in inside if file.is_file() and not file.stat().st_size]:
            raise DataError(
                f"{folder}: the files {_quote_names(empty)} are empty, expected {_EXPECTED_CORPUS}. Fetch them again."
            )
        return inside

    def _read_corpus(self) -> Documents:
        """Return all lines in order. Line numbers in ids have six digits, so that ids sort like lines."""
        ids: list[str] = []
        texts: list[str] = []
        for file in self._corpus_files():
            for number, text in read_lines(file, _EXPECTED_CORPUS):
                ids.append(f"{file.name}:{number:06d}")
                texts.append(text)
        return Documents(ids, [""] * len(ids), texts)


def _quote_names(names: Sequence[str]) -> str:
    return abbreviate_names([repr(name) for name in names])


def _gaps(names: Sequence[str]) -> dict[str, int | str]:
    """Return notes that count the series of numbers with gaps, and name the first missing file of each, or {} if
    there are no gaps. Numbers begin with 1.
    """
    series: dict[str, set[int]] = {}
    for name in names:
        for number in _PART_NUMBER.finditer(name):
            series.setdefault(name[: number.start()], set()).add(int(number.group()))
    missing = []
    for start, numbers in sorted(series.items()):
        first = next(number for number in count(1) if number not in numbers)
        if first < max(numbers):
            missing.append(f"{start}{first}")
    if not missing:
        return {}
    return {"n_gaps_in_corpus_files": len(missing), "gaps_in_corpus_files": abbreviate_names(missing)}


def _merge_duplicates(documents: Documents) -> tuple[Documents, int]:
    """Return the documents without repetitions of earlier texts, and their number. Empty documents stay."""
    first: dict[str, str] = {}
    remaining = [
        (an_id, text)
        for an_id, text in zip(documents.ids, documents.texts, strict=True)
        if not text.strip() or first.setdefault(text, an_id) == an_id
    ]
    merged = Documents([an_id for an_id, _ in remaining], [""] * len(remaining), [text for _, text in remaining])
    return merged, len(documents) - len(merged)


def _with_documents(documents: Documents, added: Mapping[str, str]) -> Documents:
    n_documents = len(documents) + len(added)
    return Documents([*documents.ids, *added], [""] * n_documents, [*documents.texts, *added.values()])
