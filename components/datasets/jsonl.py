"""The user's documents and questions."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.assembly import assemble, limit_and_count, require_gold_in_corpus
from components.datasets.data_files import require_file, sha256_of_files
from components.datasets.document_files import EXPECTED_FOLDER, missing_extras
from components.datasets.document_source import DocumentSource
from components.datasets.given_passages import add_passages
from components.datasets.jsonl_samples import read_samples
from components.datasets.labels import name_problems
from components.datasets.parsers.built_in import BuiltInReaders
from components.datasets.subsampling import limit_problems
from components.datasets.texts_on_disk import TextsById
from components.errors import ConfigError, DataError
from components.fields import added_later, runtime_only
from components.protocols.parsing import Parser
from components.records import Benchmark, Documents

_EXPECTED_DOCUMENTS = f"a JSON Lines file, or a folder of {EXPECTED_FOLDER}"
_EXPECTED = 'a JSON Lines file of questions, {"id", "question"} and more'


@dataclass(frozen=True)
class Jsonl:
    """A user's data: `documents`, a JSON Lines file or a folder, and `samples`, a JSON Lines file of questions.

    See `read_documents` for the documents and `read_samples` for the fields of a question. If the questions bring
    passages, `documents` may be "": the passages are then the corpus. Questions without references are answered too,
    and scored by the metrics that need no reference. The other fields are as in `ReadingOptions`.
    """

    version: ClassVar[int] = DocumentSource.version + 4

    documents: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    samples: str = runtime_only("", "the fingerprint covers the content of the file; its location does not matter")
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    name: str = runtime_only("jsonl", "the name of a data set does not change its content")
    keep_structure: bool = added_later(False)
    one_per_line: bool = added_later(False)
    tables: tuple[str, ...] = added_later(())
    text_columns: tuple[str, ...] = added_later(())
    parser: Parser = added_later(BuiltInReaders())
    groups: Groups = groups_field()

    def check(self) -> list[str]:
        """Return one message per error in the fields, and per missing library for the documents. Reads no file."""
        problems = [] if self.samples else [f"samples: is empty, expected {_EXPECTED}"]
        if not self.samples and not self.documents:
            problems.insert(0, f"documents: is empty, expected {_EXPECTED_DOCUMENTS}")
        problems += [*limit_problems(self.limit, self.max_documents), *name_problems(self.name)]
        if self.documents:
            try:
                problems += missing_extras(Path(self.documents), self._documents.options)
            except DataError as error:
                problems.append(f"documents: {error}")
        return problems

    @property
    def source(self) -> DocumentSource | None:
        """Return the documents, or None if the passages of the samples are the corpus."""
        return self._documents if self.documents else None

    @property
    def _documents(self) -> DocumentSource:
        return DocumentSource(
            self.documents, self.keep_structure, self.one_per_line, self.tables, self.text_columns, self.parser
        )

    def fingerprint(self) -> str:
        """Return the SHA-256 of the documents and the questions."""
        samples_hash = sha256_of_files({"samples.jsonl": require_file(Path(self.samples), _EXPECTED)}, _EXPECTED)
        documents_hash = self.source.fingerprint() if self.source else ""
        return hashlib.sha256(f"{documents_hash} {samples_hash}".encode()).hexdigest()

    def load(self) -> Benchmark:
        """Return all documents, and questions up to the limit.

        Raises ConfigError if `check` finds an error, DataError for errors in the files.
        """
        if problems := self.check():
            raise ConfigError(problems)
        return self.load_over(*self.source.read()) if self.source else self.load_over(Documents((), (), ()), {})

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        """Return the questions up to the limit, over documents that `source` has read.

        Raises DataError for errors in the questions, and for gold that is not in the corpus.
        """
        not_read = str(counts.get("files_of_other_kinds", ""))
        questions = read_samples(Path(self.samples), TextsById(documents.ids, documents.texts), not_read)
        if not self.documents and not questions.passages:
            raise DataError(
                f"{self.samples}: dataset.documents is empty, and no question has passages, expected "
                f"dataset.documents={_EXPECTED_DOCUMENTS}"
            )
        notes = {**counts, **questions.counts}
        corpus = add_passages(documents, questions.passages)
        benchmark = assemble(
            self.samples,
            corpus,
            questions.samples,
            questions.labels,
            notes,
            references_required=False,
            documents_source="" if questions.passages else self.documents,
        )
        require_gold_in_corpus(benchmark, self.samples, not_read)
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)
