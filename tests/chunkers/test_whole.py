from components.chunkers.whole import WholeDocuments
from tests.contracts.chunker_contract import DOCUMENTS, by_document, chunk
from tests.contracts.component_contract import ComponentContract


class TestWholeDocuments(ComponentContract):
    component = WholeDocuments()


def test_whole_documents_give_one_chunk_per_nonblank_document() -> None:
    found = by_document(chunk(WholeDocuments(), DOCUMENTS))
    assert found == {i: [(0, len(text))] for i, text in enumerate(DOCUMENTS.texts) if text.strip()}
