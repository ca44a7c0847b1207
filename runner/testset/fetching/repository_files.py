"""The files of a repository that make up a data set in BEIR's layout: documents, queries and judgements."""

import re
from collections.abc import Iterable

from components.errors import DataError

_JSONL = ("{part}.jsonl.gz", "{part}.jsonl")
_PARQUET = r"(?:data/)?{part}[/-][\w.-]*\.parquet"


def record_files(paths: Iterable[str], part: str, source: str) -> list[str]:
    """Return the files of `part` ("corpus" or "queries"): one JSON Lines file, or all Parquet files in their order.

    Raises DataError if no path has such a name.
    """
    names = sorted(paths)
    for name in (form.format(part=part) for form in _JSONL):
        if name in names:
            return [name]
    return _parquet(names, part) or _raise(source, f"{part}.jsonl.gz, {part}.jsonl or {part}/*.parquet", names)


def judgement_files(paths: Iterable[str], split: str, source: str) -> list[str]:
    """Return the files of judgements of a split: one file of tab-separated values, or all Parquet files in their order.

    Raises DataError if no path has such a name.
    """
    names = sorted(paths)
    for name in (f"{split}.tsv", f"qrels/{split}.tsv"):
        if name in names:
            return [name]
    parquet = _parquet(names, f"(?:qrels/)?{split}")
    return parquet or _raise(source, f"{split}.tsv, qrels/{split}.tsv or {split}-*.parquet", names)


def local_name(part: str, number: int, path: str) -> str:
    """Return the name of a downloaded file. It takes only the ending from the repository, so it is not a path."""
    endings = (".jsonl.gz", ".jsonl", ".tsv", ".parquet")
    return f"{part}-{number:05d}{next(ending for ending in endings if path.endswith(ending))}"


def _parquet(names: Iterable[str], part: str) -> list[str]:
    return [path for path in names if re.fullmatch(_PARQUET.format(part=part), path)]


def _raise(source: str, expected: str, names: list[str]) -> list[str]:
    listed = ", ".join(names[:8]) or "nothing"
    raise DataError(f"{source}: expected {expected}; it has: {listed}{' and more' if names[8:] else ''}")
