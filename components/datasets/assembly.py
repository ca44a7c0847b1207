"""The last step of every loader: documents and samples, as they were read, become a checked Benchmark.

All errors are DataError. `source` says where the data came from, for the error messages.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from unicodedata import normalize

from components.datasets.sampling import limit_samples
from components.datasets.smaller_corpus import limit_documents
from components.errors import DataError
from components.records import LARGEST_GRADE, Benchmark, Documents, Evidence, Sample
from components.subsets import AVERAGE, GROUPINGS, MACRO, OVERALL


def assemble(
    source: str,
    documents: Documents,
    samples: Sequence[Sample],
    labels: Mapping[str, str],
    notes: Mapping[str, int | float | str],
    *,
    references_required: bool = True,
) -> Benchmark:
    """Checks everything, drops empty documents (counted in the notes) and sorts the documents by id.

    Raises DataError for an empty corpus, no samples at all, a duplicate id, a sample with a blank question or without a
    reference (unless these are optional, as for retrieval alone), half a character, a gold span outside its document,
    and a subset, topic or task whose name the results reserve for themselves. Gold documents that are missing from the
    corpus are legal: see `limit_and_count`. Samples without a reference are counted where they are legal.
    """
    kept = _sorted_and_not_empty(documents)
    if not len(kept):
        raise DataError(f"{source}: the corpus has no document with text ({len(documents)} empty ones).")
    if not samples:
        raise DataError(f"{source}: no samples were found. Check which subsets and files are there.")
    require_unique(kept.ids, source, "document")
    require_unique([sample.id for sample in samples], source, "sample")
    for an_id, title, text in zip(kept.ids, kept.titles, kept.texts, strict=True):
        _require_whole_characters(source, f"document '{an_id}'", an_id, title, text)
    for an_id, facts in zip(kept.ids, kept.metadata, strict=False):  # there may be none at all
        _require_whole_characters(source, f"the metadata of document '{an_id}'", *facts, *facts.values())
    for sample in samples:
        _check_texts(sample, source, references_required)
        _check_names(sample, source)
    _check_spans(kept, samples, source)
    counts = {"n_documents": len(kept), "n_empty_documents": len(documents) - len(kept), "n_samples_read": len(samples)}
    if not references_required:
        counts["n_samples_without_reference"] = sum(not sample.references for sample in samples)
    if n_with_parts := sum(bool(sample.answer_parts) for sample in samples):
        counts["n_samples_with_answer_parts"] = n_with_parts
    return Benchmark(kept, tuple(samples), {**notes, **counts}, labels)


def limit_and_count(benchmark: Benchmark, limit: int | None, seed: int, max_documents: int | None = None) -> Benchmark:
    """The benchmark with at most `limit` samples and `max_documents` documents (all of their gold is kept), and in its
    notes how many samples lack gold in the corpus.

    `n_samples_without_gold_in_corpus` counts the samples that have no gold unit in the corpus (or no unit at all),
    `n_gold_units_not_in_corpus` the units of all samples that are not in it, `n_documents_left_aside` the documents
    beyond the maximum. The limit on samples leaves the corpus as it is: with fewer documents, retrieval is an easier
    task.
    """
    samples = limit_samples(benchmark.samples, limit, seed)
    documents = limit_documents(benchmark.documents, samples, max_documents, seed)
    known = set(documents.ids)
    counts = {
        "n_documents": len(documents),
        "n_samples": len(samples),
        "n_samples_without_gold_in_corpus": sum(
            all(unit.document_id not in known for unit in sample.gold) for sample in samples
        ),
        "n_gold_units_not_in_corpus": sum(unit.document_id not in known for _, unit in _units(samples)),
    }
    if max_documents is not None:
        counts["n_documents_left_aside"] = len(benchmark.documents) - len(documents)
    return replace(benchmark, documents=documents, samples=samples, notes={**benchmark.notes, **counts})


def require_gold_in_corpus(benchmark: Benchmark, source: str, not_read: str = "") -> None:
    """For data sets in which all gold must be in the corpus. Raises DataError naming the units that are not, and what
    of the corpus was `not_read`, in words.
    """
    ids = benchmark.documents.ids
    known, by_stem = set(ids), {_stem(an_id): an_id for an_id in reversed(ids)}
    composed = {normalize("NFC", an_id) for an_id in ids}
    left_out = f" Not read, for want of a reader: {not_read}." if not_read else ""

    def mistake(sample: Sample, unit: Evidence) -> str:
        alike = by_stem.get(_stem(unit.document_id))
        hint = f"did you mean '{alike}'?" if alike else f"its ids are like '{ids[0]}'."
        if normalize("NFC", unit.document_id) in composed:
            hint = "one that looks the same is written in another Unicode normalization form (NFC or NFD)."
        return (
            f"{source}: the gold of sample '{sample.id}' points nowhere: the corpus has no document "
            f"'{unit.document_id}' with text; {hint}{left_out} Mend the id, or add the document."
        )

    if lost := [mistake(*each) for each in _units(benchmark.samples) if each[1].document_id not in known]:
        raise DataError(lost)


def require_some_gold_in_corpus(benchmark: Benchmark, source: str, remedy: str) -> None:
    """For data sets in which some gold may be missing. Raises DataError if there is gold but none of it is in the
    corpus, because then the samples belong to another corpus. `remedy` says what to do.
    """
    named = {unit.document_id for _, unit in _units(benchmark.samples)}
    if named and named.isdisjoint(benchmark.documents.ids):
        raise DataError(
            f"{source}: its gold points nowhere: none of the {len(named)} documents, such as '{min(named)}', is in the "
            f"corpus, whose ids are like '{benchmark.documents.ids[0]}'. {remedy}"
        )


def _stem(document_id: str) -> str:
    """What of an id does not differ in case, in its folders or in its extension."""
    return PurePosixPath(document_id.lower()).stem


def _sorted_and_not_empty(documents: Documents) -> Documents:
    rows = (row for row, text in enumerate(documents.texts) if text.strip())
    return documents.at(sorted(rows, key=documents.ids.__getitem__))


def require_unique(ids: Sequence[str], source: str, what: str) -> None:
    """Raises DataError naming the first id that occurs twice; `what` has these ids ("document")."""
    first: dict[str, int] = {}
    for position, an_id in enumerate(ids, start=1):
        if an_id in first:
            raise DataError(
                f"{source}: the {what} id '{an_id}' occurs twice, as {what} {first[an_id]} and as {what} {position} of "
                f"{len(ids)}. Ids must be unique: remove or rename one."
            )
        first[an_id] = position


def _require_whole_characters(source: str, where: str, *texts: str) -> None:
    """A JSON escape of a single surrogate is half a character, which no UTF-8 file, and so no result, can hold."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"{source}: {where} holds half a character, {text[error.start]!a}, at {error.start}. "
                "Mend the escape in the file, or remove it."
            ) from error


def _check_texts(sample: Sample, source: str, references_required: bool) -> None:
    turns = [text for turn in sample.history for text in (turn.question, turn.answer)]
    wordings = [wording for part in sample.answer_parts for wording in part]
    answers = (*sample.references, *wordings, *sample.fake_answers)
    texts = (sample.id, sample.question, sample.query, sample.expansion, *answers, *turns)
    _require_whole_characters(source, f"sample {sample.id!a}", *texts)
    if not sample.question.strip():
        raise DataError(f"{source}: the question of sample '{sample.id}' is empty.")
    if references_required and not any(reference.strip() for reference in sample.references):
        raise DataError(f"{source}: sample '{sample.id}' has no reference answer that is not blank.")


def _check_names(sample: Sample, source: str) -> None:
    """A subset "macro" would be taken for the mean over subsets, a topic "all" for the average row of the matrix."""
    taken = {"subset": (OVERALL, MACRO, *GROUPINGS), "topic": (AVERAGE,), "task": (AVERAGE,)}
    names = {"subset": sample.subset.split("/")[0], "topic": sample.topic, "task": sample.task}
    for what, name in names.items():
        if name in taken[what]:
            raise DataError(
                f"{source}: the {what} of sample '{sample.id}' is '{name}', which the results use for another thing. "
                f"Expected: any other name than {', '.join(taken[what])}. Rename it."
            )


def _check_spans(documents: Documents, samples: Sequence[Sample], source: str) -> None:
    lengths = {an_id: len(text) for an_id, text in zip(documents.ids, documents.texts, strict=True)}
    for sample, unit in _units(samples):
        if unit.grade > LARGEST_GRADE:
            raise DataError(
                f"{source}: sample '{sample.id}' has gold of grade {unit.grade}; expected up to {LARGEST_GRADE}."
            )
        if unit.start is None and unit.end is None:
            continue
        length = lengths.get(unit.document_id)  # None for gold that is missing from the corpus
        if unit.start is None or unit.end is None or not 0 <= unit.start < unit.end:
            raise DataError(
                f"{source}: the gold of sample '{sample.id}' points nowhere: start {unit.start} and end {unit.end} of "
                f"document '{unit.document_id}'; expected both, 0 <= start < end, or neither for the whole document."
            )
        if length is not None and unit.end > length:
            raise DataError(
                f"{source}: the gold of sample '{sample.id}' points nowhere: characters {unit.start} to {unit.end} of "
                f"document '{unit.document_id}', which has {length}."
            )


def _units(samples: Iterable[Sample]) -> Iterator[tuple[Sample, Evidence]]:
    return ((sample, unit) for sample in samples for unit in sample.gold)
