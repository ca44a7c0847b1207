from components.headers.none import NoHeader
from components.headers.place import Place
from components.records import Documents, Spans
from tests.contracts.component_contract import ComponentContract
from tests.contracts.header_contract import CHUNKS, DOCUMENTS, HeaderContract


class TestNoHeader(ComponentContract):
    component = NoHeader()

    def test_empty_header_option_has_no_writers(self) -> None:
        assert NoHeader().writers == ()


class TestPlace(HeaderContract):
    component = Place()

    def test_header_joins_title_and_headings(self) -> None:
        assert self.write() == ["First > One", "First > One > Two", "第三"]

    def test_header_may_omit_the_title_or_the_headings(self) -> None:
        assert Place(section=False).write(DOCUMENTS, CHUNKS) == ["First", "First", "第三"]
        assert Place(title=False, separator=" / ").write(DOCUMENTS, CHUNKS) == ["One", "One / Two", ""]

    def test_header_without_title_and_headings_is_empty(self) -> None:
        first = Spans(CHUNKS.document[:1], CHUNKS.start[:1], CHUNKS.end[:1])
        assert Place().write(Documents(["a"], [""], ["No heading."]), first) == [""]

    def test_header_without_any_part_is_rejected(self) -> None:
        assert Place(title=False, section=False).check() == [
            "title, section: got false for both (for none, header=none)"
        ]
