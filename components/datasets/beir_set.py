"""The documents and samples of one set in BEIR's layout. A data set consists of one such set, or of several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.datasets.beir_files import ANSWERS, Qrels, read_answers, read_corpus, read_qrels, read_queries
from components.datasets.data_files import require_inside
from components.errors import DataError
from components.records import Documents, Evidence, Kind, Sample

_EXPECTED = "a file of a data set in BEIR's layout"


@dataclass(frozen=True)
class BeirFiles:
    """The files of a set in `root`, None for a part that it lacks. `prepared` holds search texts by query id.

    Raises DataError for a file that is a link to a file outside `root`.
    """

    root: Path
    corpus: Path
    queries: Path
    qrels: Path
    answers: Path | None = None
    prepared: Path | None = None

    def __post_init__(self) -> None:
        for file in self.by_part().values():
            require_inside(file, [self.root], _EXPECTED)

    def by_part(self) -> dict[str, Path]:
        """Return the files that exist by the name of their part, for the fingerprint."""
        return {part: file for part, file in vars(self).items() if file is not None and part != "root"}


@dataclass(frozen=True)
class BeirSet:
    """The content of a set. `counts` report what is missing or left out; counts of several sets can be added."""

    documents: Documents
    samples: Sequence[Sample]
    counts: Mapping[str, int]


def read_set(
    files: BeirFiles, subset: str, title_separator: str | None, corpus_prefix: str = "", *, any_suffices: bool = False
) -> BeirSet:
    """Return all documents, and one sample per query, in the order of the files.

    `corpus_prefix` is prepended to the ids of documents and samples, and limits the samples' search to documents with
    this prefix. A document is gold if its score is at least 1, even if it is not in the corpus. Queries without gold
    are kept. With `any_suffices`, the gold documents of a query are alternatives. A query without a prepared text is
    searched for as it is. Raises DataError for errors in the files, if all judgements are about unknown queries, and if
    no query has gold or an answer.
    """
    documents = read_corpus(files.corpus, title_separator)
    queries, qrels = read_queries(files.queries), read_qrels(files.qrels)
    if qrels.scores and qrels.scores.keys().isdisjoint(queries):
        raise _foreign_judgements(files, qrels, queries)
    answers = read_answers(files.answers) if files.answers else {}
    prepared = read_queries(files.prepared) if files.prepared else {}
    samples = [
        Sample(
            id=f"{corpus_prefix}{query_id}",
            subset=subset,
            kind=Kind.QA,
            question=text,
            references=answers.get(query_id, ()),
            gold=_gold(qrels.scores.get(query_id, {}), corpus_prefix, any_suffices),
            query=prepared.get(query_id, "").strip(),
            corpus_prefix=corpus_prefix,
        )
        for query_id, text in queries.items()
    ]
    if not any(sample.gold or sample.references for sample in samples):
        raise DataError(
            f"{files.qrels}: names no relevant document (score 1 or more) for any of the {len(queries)} queries, and "
            f"no query has an answer, so nothing can be scored. Fetch the judgements again, or add {ANSWERS}."
        )
    counts = {**_qrels_counts(qrels, queries, documents), "n_answers_of_unknown_queries": len(answers.keys() - queries)}
    if files.prepared:
        counts["n_queries_not_prepared"] = sum(not sample.query for sample in samples)
        counts["n_prepared_of_unknown_queries"] = len(prepared.keys() - queries)
    ids = [f"{corpus_prefix}{document_id}" for document_id in documents.ids]
    return BeirSet(Documents(ids, documents.titles, documents.texts), samples, counts)


def _foreign_judgements(files: BeirFiles, qrels: Qrels, queries: Mapping[str, str]) -> DataError:
    """Return the error for judgements that all belong to other queries."""
    judged, query = next(iter(qrels.scores)), next(iter(queries))
    return DataError(
        f"{files.qrels}: judges none of the {len(queries)} queries in {files.queries.name}, whose ids are like "
        f"{query!r}; the query ids of the judgements are like {judged!r}, expected lines of query id, document id "
        "and score, in this order. Swap the columns, or choose the judgements of these queries."
    )


def label_counts(samples: Sequence[Sample]) -> dict[str, int | float]:
    """Return the number of queries, the number with gold, and their share, rounded to four digits.

    `samples` must not be empty.
    """
    n_labelled = sum(bool(sample.gold) for sample in samples)
    return {
        "n_queries": len(samples),
        "n_queries_labelled": n_labelled,
        "share_labelled": round(n_labelled / len(samples), 4),
    }


def _gold(scores: Mapping[str, int], corpus_prefix: str, any_suffices: bool) -> tuple[Evidence, ...]:
    """Return the relevant documents of one query, each as a whole, by decreasing grade."""
    relevant = [(document_id, score) for document_id, score in scores.items() if score >= 1]
    ordered = sorted(relevant, key=lambda pair: (-pair[1], pair[0]))
    one_of = int(any_suffices and len(ordered) > 1)
    return tuple(Evidence(f"{corpus_prefix}{name}", grade=grade, one_of=one_of) for name, grade in ordered)


def _qrels_counts(qrels: Qrels, queries: Mapping[str, str], documents: Documents) -> dict[str, int]:
    known = set(documents.ids)
    rows = [
        (query_id, document_id, score)
        for query_id, scores in qrels.scores.items()
        for document_id, score in scores.items()
    ]
    return {
        "n_queries_without_qrels": len(queries.keys() - qrels.scores),
        "n_qrels_repeated": qrels.n_repeated,
        "n_qrels_not_relevant": sum(score < 1 for _, _, score in rows),
        "n_qrels_of_unknown_queries": sum(query_id not in queries for query_id, _, _ in rows),
        "n_qrels_of_unknown_documents": sum(document_id not in known for _, document_id, _ in rows),
    }
