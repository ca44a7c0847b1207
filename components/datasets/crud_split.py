"""CRUD-RAG's split file: six lists of records, one per subset, with different field names.

Source: Lyu et al. 2024, "CRUD-RAG: A Comprehensive Chinese Benchmark for RAG", file data/crud_split/split_merged.json.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.datasets.json_fields import as_list, as_record, optional_text, required_text, required_texts
from components.datasets.json_files import read_json
from components.errors import DataError
from components.limits import closest_name, expected_one_of
from components.records import Kind, Sample

EXPECTED = "CRUD-RAG's split, a JSON object of lists of records such as 'event_summary' and 'questanswer_1doc'"


@dataclass(frozen=True)
class SubsetFormat:
    """The fields of one list of records that become samples. Only `gold` fields may be missing."""

    list_name: str
    kind: Kind
    question: tuple[str, ...]
    reference: str
    gold: tuple[str, ...]


SUBSETS: Mapping[str, SubsetFormat] = {
    "create/continuation": SubsetFormat("continuing_writing", Kind.CONTINUATION, ("beginning",), "continuing", ()),
    "delete/summarization": SubsetFormat("event_summary", Kind.SUMMARIZATION, ("event",), "summary", ("text",)),
    "read/qa_1doc": SubsetFormat("questanswer_1doc", Kind.QA, ("questions",), "answers", ("news1",)),
    "read/qa_2docs": SubsetFormat("questanswer_2docs", Kind.QA, ("questions",), "answers", ("news1", "news2")),
    "read/qa_3docs": SubsetFormat("questanswer_3docs", Kind.QA, ("questions",), "answers", ("news1", "news2", "news3")),
    "update/hallucination": SubsetFormat(
        "hallu_modified",
        Kind.CORRECTION,
        ("newsBeginning", "hallucinatedContinuation"),
        "hallucinatedMod",
        ("newsRemainder",),
    ),
}


@dataclass(frozen=True)
class CrudItem:
    """A sample without its gold, and the gold texts that are to be found in the corpus."""

    sample: Sample
    gold_texts: tuple[str, ...]
    n_gold_missing: int = 0
    """Fields for gold that are missing or blank."""


@dataclass(frozen=True)
class CrudSplit:
    """The items of the chosen subsets, in the order of the subsets and their lists.

    `is_truncated` is True if the end of the file is missing. `empty` names chosen subsets without an item.
    """

    items: tuple[CrudItem, ...]
    is_truncated: bool
    empty: tuple[str, ...]


def read_split(file: Path, subsets: Sequence[str], accept_truncated: bool) -> CrudSplit:
    """Read the lists of some of SUBSETS. A list may be empty, and may be missing from a file that was cut off.

    A file may also be a bare list, with the records of the one chosen subset. Raises DataError if the file cannot be
    read or has another form, and if it lacks a list.
    """
    value, is_truncated = read_json(file, EXPECTED, accept_truncated)
    if isinstance(value, list) and len(subsets) == 1:
        value = {SUBSETS[subsets[0]].list_name: value}
    if isinstance(value, list):
        raise DataError(
            f"{file}: got a bare list, which holds the records of one subset, but {len(subsets)} subsets are chosen. "
            f"Choose that subset, e.g. dataset.subsets=[{subsets[0]}]. Or give a file with all subsets: {EXPECTED}."
        )
    lists = as_record(value, f"{file} (expected: {EXPECTED})")
    _require_spelling(file, lists)
    if not is_truncated:
        _require_lists(file, lists, subsets)
    items = {subset: tuple(_read_list(file, lists, subset)) for subset in subsets}
    empty = tuple(subset for subset, read in items.items() if not read)
    return CrudSplit(tuple(item for read in items.values() for item in read), is_truncated, empty)


def _require_spelling(file: Path, lists: Mapping[str, object]) -> None:
    """Raise DataError for a misspelled name of a list: its records would be lost silently."""
    known = [form.list_name for form in SUBSETS.values()]
    absent = [name for name in known if name not in lists]
    for name in lists:
        if name not in known and closest_name(name.lower(), absent, cutoff=0.8):
            raise DataError(f"{file}: unknown list '{name}'{expected_one_of(name.lower(), known)}")


def _require_lists(file: Path, lists: Mapping[str, object], subsets: Sequence[str]) -> None:
    """Raise DataError if the list of a chosen subset is missing: a subset of the benchmark would vanish."""
    missing = [subset for subset in subsets if SUBSETS[subset].list_name not in lists]
    if not missing:
        return
    absent = ", ".join(f"{SUBSETS[subset].list_name!r} ({subset})" for subset in missing)
    present = [subset for subset, form in SUBSETS.items() if form.list_name in lists]
    choice = f" choose the subsets that it has, dataset.subsets=[{','.join(present)}]," if present else ""
    found = f"has the lists {', '.join(lists)}, but" if lists else "has no lists, and"
    raise DataError(
        f"{file}: {found} lacks {absent}, expected a list for each chosen subset. Fetch "
        f"the file again,{choice} or add an empty list for a subset without items."
    )


def _read_list(file: Path, lists: Mapping[str, object], subset: str) -> Iterator[CrudItem]:
    name = SUBSETS[subset].list_name
    for number, value in enumerate(as_list(lists.get(name, []), f"{file}, list '{name}'"), start=1):
        yield _read_item(value, subset, f"{file}, list '{name}', record {number}")


def _read_item(value: object, subset: str, where: str) -> CrudItem:
    form = SUBSETS[subset]
    record = as_record(value, where)
    where = f"{where} (ID {record.get('ID')})"
    sample = Sample(
        id=f"{subset}/{required_text(record, 'ID', where)}",
        subset=subset,
        kind=form.kind,
        question="".join(required_text(record, field, where) for field in form.question).strip(),
        references=required_texts(record, form.reference, where),
    )
    texts = [text for field in form.gold if (text := optional_text(record, field, where)).strip()]
    return CrudItem(sample, tuple(texts), len(form.gold) - len(texts))
