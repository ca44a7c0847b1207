"""The last step of every loader: check documents and samples, and join them in a Benchmark.

All errors are DataError. `source` says where the data came from, for the error messages.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from components.datasets.missing_documents import MissingDocuments
from components.datasets.subsampling import limit_documents, limit_samples
from components.errors import DataError
from components.records import MAX_GRADE, Benchmark, Documents, Evidence, Sample
from components.subsets import AVERAGE, GROUPINGS, MACRO, OVERALL

_N_NAMED = 3
"""Empty documents that the notes name."""

_LIST_AS_TEXT = re.compile(r"""\s*\[\s*(["']).*\1\s*\]\s*""", re.DOTALL)
"""A list that a program wrote as a single string: "['1932', 'in 1932']"."""


def assemble(
    source: str,
    documents: Documents,
    samples: Sequence[Sample],
    labels: Mapping[str, str],
    notes: Mapping[str, int | float | str],
    *,
    references_required: bool = True,
    documents_source: str = "",
) -> Benchmark:
    """Check everything, drop empty documents (counted in the notes) and sort the documents by id.

    Raises DataError for

    - a corpus without text, no samples, a duplicate id, or a sample with a blank question;
    - a sample without a reference, if references are required; otherwise such samples are counted;
    - an unpaired surrogate, or a gold span outside its document;
    - a subset, topic or task whose name the results reserve.

    Errors in documents name the `documents_source`, "" for `source`.

    Samples with the subset, question, references and history of an earlier one are counted: a file may be in the folder
    twice. Gold documents may be missing from the corpus; see `limit_and_count`.
    """
    remaining = _sort_and_drop_empty(documents)
    if not samples:
        raise DataError(f"{source}: no samples were found. Check the subsets and the files.")
    if not len(remaining):
        raise DataError(
            f"{documents_source or source}: no document of the corpus has text ({len(documents)} empty ones)"
        )
    with_text = [an_id for an_id, text in zip(documents.ids, documents.texts, strict=True) if text.strip()]
    require_unique(with_text, documents_source or source, "document")  # in the order of the files
    check_texts(remaining, documents_source or source)
    check_samples(remaining, samples, source, references_required=references_required)
    distinct = {(each.subset, each.question, each.references, each.history) for each in samples}
    counts: dict[str, int | str] = {
        "n_documents": len(remaining),
        "n_empty_documents": len(documents) - len(remaining),
        "n_samples_read": len(samples),
    }
    if empty := [an_id for an_id, text in zip(documents.ids, documents.texts, strict=True) if not text.strip()]:
        more = f" and {len(empty) - _N_NAMED} more" if len(empty) > _N_NAMED else ""
        counts["empty_documents"] = ", ".join(sorted(empty)[:_N_NAMED]) + more
    if not references_required:
        counts["n_samples_without_reference"] = sum(not sample.references for sample in samples)
    if n_repeated := len(samples) - len(distinct):
        counts["n_samples_repeated"] = n_repeated
    if n_lists := sum(bool(_LIST_AS_TEXT.fullmatch(text)) for sample in samples for text in sample.references):
        counts["n_references_like_lists"] = n_lists
    if n_with_parts := sum(bool(sample.answer_parts) for sample in samples):
        counts["n_samples_with_answer_parts"] = n_with_parts
    return Benchmark(remaining, tuple(samples), {**notes, **counts}, labels)


def limit_and_count(benchmark: Benchmark, limit: int | None, seed: int, max_documents: int | None = None) -> Benchmark:
    """Return the benchmark with at most `limit` samples and `max_documents` documents, and with counts in its notes.

    The gold of the samples is always kept. The limit on samples does not shrink the corpus, because retrieval from
    fewer documents is easier. The counts are those of `count_gold`, and `n_documents_left_aside`: documents beyond the
    maximum.
    """
    samples = limit_samples(benchmark.samples, limit, seed)
    documents = limit_documents(benchmark.documents, samples, max_documents, seed)
    counts = count_gold(documents, samples)
    if max_documents is not None:
        counts["n_documents_left_aside"] = len(benchmark.documents) - len(documents)
    return replace(benchmark, documents=documents, samples=samples, notes={**benchmark.notes, **counts})


def count_gold(documents: Documents, samples: Sequence[Sample]) -> dict[str, int]:
    """Return the numbers of documents and samples, and these counts:

    - `n_samples_without_gold_in_corpus`: samples without a gold unit in the corpus, or without gold;
    - `n_gold_units_not_in_corpus`: gold units of all samples that are not in the corpus.
    """
    known = set(documents.ids)
    return {
        "n_documents": len(documents),
        "n_samples": len(samples),
        "n_samples_without_gold_in_corpus": sum(
            all(unit.document_id not in known for unit in sample.gold) for sample in samples
        ),
        "n_gold_units_not_in_corpus": sum(unit.document_id not in known for _, unit in _units(samples)),
    }


def recount(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with counts in its notes that fit its samples, which a user's class may have changed."""
    samples = benchmark.samples
    counts = {
        "n_samples_without_reference": sum(not sample.references for sample in samples),
        "n_samples_with_answer_parts": sum(bool(sample.answer_parts) for sample in samples),
        "n_samples_unanswerable": sum(not sample.answerable for sample in samples),
    }
    there = {name: n for name, n in counts.items() if n or name in benchmark.notes}
    return replace(benchmark, notes={**benchmark.notes, **count_gold(benchmark.documents, samples), **there})


def require_gold_in_corpus(benchmark: Benchmark, source: str, not_read: str = "") -> None:
    """Raise DataError if gold is missing from the corpus. The error names each missing unit.

    `not_read` describes the files of the corpus that were not read; "" for none.
    """
    known = set(benchmark.documents.ids)
    wording = MissingDocuments(benchmark.documents.ids, not_read)

    def problem(sample: Sample, unit: Evidence) -> str:
        if not unit.document_id.strip():
            return (
                f"{source}: the gold of sample {sample.id!r} has a blank document id (an empty field of a table?). "
                'Omit gold that you do not know, and write "answerable": false if no document has the answer.'
            )
        return (
            f"{source}: the gold of sample {sample.id!r} is not in the corpus, which has no document "
            f"{wording.describe(unit.document_id)}"
        )

    if lost := [problem(sample, unit) for sample, unit in _units(benchmark.samples) if unit.document_id not in known]:
        raise DataError(lost)


def require_some_gold_in_corpus(benchmark: Benchmark, source: str, remedy: str) -> None:
    """Raise DataError if the samples have gold, but the corpus lacks all of it: they belong to another corpus.

    `remedy` tells the user what to do.
    """
    named = {unit.document_id for _, unit in _units(benchmark.samples)}
    if named and named.isdisjoint(benchmark.documents.ids):
        raise DataError(
            f"{source}: the gold belongs to another corpus: none of its {len(named)} documents, such as "
            f"{min(named)!r}, is in this corpus, whose ids are like {benchmark.documents.ids[0]!r}. {remedy}"
        )


def _sort_and_drop_empty(documents: Documents) -> Documents:
    rows = (row for row, text in enumerate(documents.texts) if text.strip())
    return documents.at(sorted(rows, key=documents.ids.__getitem__))


def check_texts(documents: Documents, source: str) -> None:
    """Raise DataError for an unpaired surrogate in a document."""
    for an_id, title, text in zip(documents.ids, documents.titles, documents.texts, strict=True):
        _require_whole_characters(source, f"document {an_id!r}", an_id, title, text)
    for an_id, facts in zip(documents.ids, documents.metadata, strict=False):  # a corpus may have no metadata
        _require_whole_characters(source, f"the metadata of document {an_id!r}", *facts, *facts.values())


def check_samples(documents: Documents, samples: Sequence[Sample], source: str, *, references_required: bool) -> None:
    """Raise DataError for a duplicate id, invalid texts, reserved names, and gold spans outside their documents."""
    require_unique([sample.id for sample in samples], source, "sample")
    for sample in samples:
        _check_texts(sample, source, references_required)
        _check_names(sample, source)
    _check_spans(documents, samples, source)


def require_unique(ids: Sequence[str], source: str, what: str) -> None:
    """Raise DataError for the first id that occurs twice. `what` names the things with these ids ("document")."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for position, an_id in enumerate(ids, start=1):
        if an_id in first:
            raise DataError(
                f"{source}: the {what} id {an_id!r} occurs twice, as {what} {first[an_id]} and as {what} {position} of "
                f"{len(ids)}. Ids must be unique. Remove or rename one."
            )
        first[an_id] = position


def _require_whole_characters(source: str, location: str, *texts: str) -> None:
    """Raise DataError for an unpaired surrogate, which a JSON escape can contain but a UTF-8 file cannot."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"{source}: {location} contains half of a character (an unpaired surrogate), {text[error.start]!a}, at "
                f"{error.start}. Correct the escape in the file, or remove it."
            ) from error


def _check_texts(sample: Sample, source: str, references_required: bool) -> None:
    turns = [text for turn in sample.history for text in (turn.question, turn.answer)]
    wordings = [wording for part in sample.answer_parts for wording in part]
    answers = (*sample.references, *wordings, *sample.fake_answers)
    texts = (sample.id, sample.question, sample.query, sample.expansion, *answers, *turns)
    _require_whole_characters(source, f"sample {sample.id!a}", *filter(None, texts))
    if not sample.question.strip():
        raise DataError(f"{source}: the question of sample {sample.id!r} is empty")
    if references_required and not any(reference.strip() for reference in sample.references):
        raise DataError(f"{source}: sample {sample.id!r} has no reference answer that is not blank")


def _check_names(sample: Sample, source: str) -> None:
    """Raise DataError for a reserved name: a subset "macro", for example, would be confused with the macro mean."""
    taken = {"subset": (OVERALL, MACRO, *GROUPINGS), "topic": (AVERAGE,), "task": (AVERAGE,)}
    names = {"subset": sample.subset.split("/")[0], "topic": sample.topic, "task": sample.task}
    for what, name in names.items():
        if name in taken[what]:
            raise DataError(
                f"{source}: the {what} of sample {sample.id!r} is {name!r}, a name that the results reserve, "
                f"expected any name except {', '.join(taken[what])}. Rename it."
            )


def _check_spans(documents: Documents, samples: Sequence[Sample], source: str) -> None:
    lengths = {an_id: len(text) for an_id, text in zip(documents.ids, documents.texts, strict=True)}
    for sample, unit in _units(samples):
        if not 1 <= unit.grade <= MAX_GRADE:
            raise DataError(
                f"{source}, sample {sample.id!r}: got gold of grade {unit.grade}, expected 1 to {MAX_GRADE}. Leave out "
                "irrelevant documents."
            )
        if unit.start is None and unit.end is None:
            continue
        length = lengths.get(unit.document_id)  # None for gold that is missing from the corpus
        if unit.start is None or unit.end is None or not 0 <= unit.start < unit.end:
            raise DataError(
                f"{source}: the gold of sample {sample.id!r} has start {unit.start} and end {unit.end} in "
                f"document {unit.document_id!r}, expected both, 0 <= start < end, or neither for the whole "
                "document"
            )
        if length is not None and unit.end > length:
            raise DataError(
                f"{source}: the gold of sample {sample.id!r} is characters {unit.start} to {unit.end} of document "
                f"{unit.document_id!r}, expected at most {length}"
            )


def _units(samples: Iterable[Sample]) -> Iterator[tuple[Sample, Evidence]]:
    return ((sample, unit) for sample in samples for unit in sample.gold)
