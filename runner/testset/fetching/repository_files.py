"""The files of a repository that make up a data set in BEIR's layout: documents, queries and judgements."""

import re
from collections.abc import Iterable

from components.errors import DataError

_JSONL = ("{part}.jsonl.gz", "{part}.jsonl")
_PARQUET = r"(?:data/)?{part}[/-][\w.-]*\.parquet"


def record_files(paths: Iterable[str], part: str, where: str) -> list[str]:
    """Return the files of `part` ("corpus" or "queries"): one of JSON Lines, or those of Parquet in their order.

    Raises DataError if no path has such a name.
    """
    known = sorted(paths)
    for name in (form.format(part=part) for form in _JSONL):
        if name in known:
            return [name]
    return _parquet(known, part) or _raise(where, f"{part}.jsonl.gz, {part}.jsonl or {part}/*.parquet", known)


def judgement_files(paths: Iterable[str], split: str, where: str) -> list[str]:
    """Return the files of judgements of a split: one of tab-separated values, or those of Parquet in their order.

    Raises DataError if no path has such a name.
    """
    known = sorted(paths)
    for name in (f"{split}.tsv", f"qrels/{split}.tsv"):
        if name in known:
            return [name]
    found = _parquet(known, f"(?:qrels/)?{split}")
    return found or _raise(where, f"{split}.tsv, qrels/{split}.tsv or {split}-*.parquet", known)


def local_name(part: str, number: int, path: str) -> str:
    """Return the name of a downloaded file. It takes only the ending from the repository, so it is no path."""
    endings = (".jsonl.gz", ".jsonl", ".tsv", ".parquet")
    return f"{part}-{number:05d}{next(ending for ending in endings if path.endswith(ending))}"


def _parquet(known: Iterable[str], part: str) -> list[str]:
    return [path for path in known if re.fullmatch(_PARQUET.format(part=part), path)]


def _raise(where: str, expected: str, known: list[str]) -> list[str]:
    shown = ", ".join(known[:8]) or "nothing"
    raise DataError(f"{where}: expected {expected}; it has: {shown}{' and more' if known[8:] else ''}.")
