"""The contract of every writer of headers."""

import numpy as np

from components.protocols import Header, HeaderWriter
from components.records import Documents, Spans
from tests.contracts.component_contract import ComponentContract

DOCUMENTS = Documents(["a", "b", "c"], ["First", "", "第三"], ["# One\n\nText.\n\n## Two\n\nMore.", "", "只有一句。"])
CHUNKS = Spans(*(np.array(column, dtype=np.int32) for column in ([0, 0, 2], [0, 14, 0], [12, 27, 5])))
_NONE = np.zeros(0, dtype=np.int32)


class HeaderContract(ComponentContract):
    """Contract of headers with a single writer and without a model."""

    component: Header

    def write(self, documents: Documents = DOCUMENTS, chunks: Spans = CHUNKS) -> list[str]:
        """The headers."""
        (writer,) = self.component.writers
        assert isinstance(writer, HeaderWriter)
        return list(writer.write(documents, chunks))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Header)

    def test_headers_are_single_lines_per_chunk(self) -> None:
        headers = self.write()
        assert len(headers) == len(CHUNKS)
        assert not any("\n" in header for header in headers)

    def test_empty_batch_of_chunks_gives_no_headers(self) -> None:
        assert self.write(DOCUMENTS, Spans(_NONE, _NONE, _NONE)) == []
