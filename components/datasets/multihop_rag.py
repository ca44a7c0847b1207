"""MultiHop-RAG in its published layout: news, and questions that need two to four articles.

Source: Tang and Yang 2024, "MultiHop-RAG: Benchmarking Retrieval-Augmented Generation for Multi-Hop Queries" (COLM).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.assembly import assemble, limit_and_count, require_some_gold_in_corpus
from components.datasets.data_files import require_file, require_inside, sha256_of_files
from components.datasets.json_fields import Record, as_list, as_record, optional_text, required_id, required_text
from components.datasets.json_files import read_json
from components.datasets.omnieval_gold import find_span
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError, read_each
from components.fields import runtime_only
from components.records import Benchmark, Documents, Evidence, Kind, Sample
from components.subsets import UNNAMED
from components.text.slugs import make_slugs

_CORPUS, _QUESTIONS = "corpus.json", "MultiHopRAG.json"
_EXPECTED_CORPUS = "MultiHop-RAG's corpus.json, a list of {title, url, body}"
_EXPECTED_QUESTIONS = "MultiHop-RAG's MultiHopRAG.json, a list of {query, answer, question_type, evidence_list}"
_FACTS = ("author", "source", "published_at", "category")
_UNANSWERABLE = "null_query"


@dataclass(frozen=True)
class MultiHopRag:
    """The files corpus.json and MultiHopRAG.json under `root` or its folder dataset.

    An article is a document with its URL as id, and with author, source, published_at and category as metadata. The
    facts of a question's evidence are its gold: spans of the articles, and all of them are needed. A subset is a type
    of question. A null query is unanswerable: no article answers it. A sample's id is its index in the file, from 0.
    """

    version: ClassVar[int] = 1

    root: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    groups: Groups = groups_field()

    @property
    def name(self) -> str:
        return "multihop_rag"

    def check(self) -> list[str]:
        """Return one message per error in the fields. Reads no file."""
        problems = [] if self.root else [f"root: is empty, expected the folder that holds {_CORPUS} and {_QUESTIONS}"]
        return [*problems, *limit_problems(self.limit, self.max_documents)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of both files."""
        return sha256_of_files(self._files(), "MultiHop-RAG's data")

    def load(self) -> Benchmark:
        """Return the articles, and a sample per question.

        The notes count facts that no article of the question contains; the whole article is then gold. Raises
        ConfigError if `check` finds an error, DataError for errors in the files and if no gold is in the corpus.
        """
        if problems := self.check():
            raise ConfigError(problems)
        files = self._files()
        documents = _read_corpus(files[_CORPUS])
        texts = dict(zip(documents.ids, documents.texts, strict=True))
        records = list(_records(files[_QUESTIONS], _EXPECTED_QUESTIONS))
        types = make_slugs(optional_text(record, "question_type", where) for where, record in records)
        numbered = list(enumerate(records))
        read = read_each(lambda item: _sample(str(item[0]), item[1][1], types, texts, item[1][0]), numbered)
        labels = {slug: name for name, slug in types.items() if slug != name}
        notes = {"n_facts_not_found": sum(n_not_found for _, n_not_found in read)}
        samples = [sample for sample, _ in read]
        benchmark = assemble(self.root, documents, samples, labels, notes, references_required=False)
        require_some_gold_in_corpus(benchmark, self.root, f"Use {_CORPUS} and {_QUESTIONS} from the same version.")
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)

    def _files(self) -> dict[str, Path]:
        root = Path(self.root)
        folder = root / "dataset" if (root / "dataset" / _CORPUS).is_file() else root
        return {
            name: require_inside(require_file(folder / name, expected), [root], expected)
            for name, expected in ((_CORPUS, _EXPECTED_CORPUS), (_QUESTIONS, _EXPECTED_QUESTIONS))
        }


def _records(file: Path, expected: str) -> Iterator[tuple[str, Record]]:
    for place, value in enumerate(as_list(read_json(file, expected).value, str(file))):
        where = f"{file}, record {place}"
        yield where, as_record(value, where)


def _read_corpus(file: Path) -> Documents:
    records = list(_records(file, _EXPECTED_CORPUS))
    return Documents(
        [required_id(record, where, "url") for where, record in records],
        [optional_text(record, "title", where) for where, record in records],
        [required_text(record, "body", where) for where, record in records],
        [{name: text for name in _FACTS if (text := optional_text(record, name, where))} for where, record in records],
    )


def _sample(
    an_id: str, record: Record, types: Mapping[str, str], texts: Mapping[str, str], where: str
) -> tuple[Sample, int]:
    """Return the sample, and the number of its facts that their articles do not contain."""
    question_type = optional_text(record, "question_type", where)
    answerable = question_type != _UNANSWERABLE
    answer = required_text(record, "answer", where)
    if answerable and not answer.strip():
        raise DataError(
            f"{where}, field 'answer': is blank, but the question has an answer. Add it, or remove the record."
        )
    evidence_location = f"{where}, field 'evidence_list'"
    spans = (
        list(_gold(as_list(record.get("evidence_list"), evidence_location), texts, evidence_location))
        if answerable
        else []
    )
    sample = Sample(
        id=an_id,
        subset=types.get(question_type, UNNAMED),
        kind=Kind.QA,
        question=required_text(record, "query", where),
        references=(answer,) if answerable else (),
        gold=tuple(dict.fromkeys(spans)),
        answer_parts=((answer,),) if answerable else (),
        answerable=answerable,
    )
    return sample, sum(unit.start is None for unit in spans)


def _gold(evidence: Sequence[object], texts: Mapping[str, str], where: str) -> Iterator[Evidence]:
    """Yield the span of each fact in its article, or the whole article if it does not contain the fact."""
    for entry in evidence:
        record = as_record(entry, where)
        url = required_id(record, where, "url")
        fact = required_text(record, "fact", where)
        span = find_span(fact, texts.get(url, "")) if fact.strip() else None
        yield Evidence(url, *span) if span else Evidence(url)
