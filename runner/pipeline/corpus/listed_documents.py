"""The documents of a corpus without their texts, for results and for readers of results."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from components.records import Documents, Sample
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run


@dataclass(frozen=True)
class DocumentList:
    """A table `documents` with the `id`, the `title` and the `n_characters` of each, in the order of the corpus."""

    documents: pa.Table

    def positions(self, samples: Sequence[Sample]) -> dict[str, int]:
        """Return the positions of the samples' gold documents. Documents outside the corpus are left out."""
        import pyarrow.compute as pc

        gold = list(dict.fromkeys(unit.document_id for sample in samples for unit in sample.gold))
        rows = pc.index_in(pa.array(gold, pa.string()), value_set=self.documents["id"].combine_chunks()).to_pylist()
        return {document_id: row for document_id, row in zip(gold, rows, strict=True) if row is not None}


class ListedDocuments(Stage[DocumentList], kind="document_list", version=1, work=Work.BENCHMARK):
    """Ids, titles and lengths of the documents."""

    codec = Columns(DocumentList)

    corpus: Stage[Documents]

    def make(self, run: Run) -> DocumentList:
        """Count the characters of the documents."""
        documents = run.read(self.corpus)
        columns = {
            "id": pa.array(documents.ids, pa.string()),
            "title": pa.array(documents.titles, pa.string()),
            "n_characters": pa.array(list(map(len, documents.texts)), pa.int32()),
        }
        return DocumentList(pa.table(columns))
