from components.headers.none import NoHeader
from components.headers.place import Place
from components.records import Documents, Spans
from tests.contracts.component_contract import ComponentContract
from tests.contracts.header_contract import CHUNKS, DOCUMENTS, HeaderContract


class TestNoHeader(ComponentContract):
    component = NoHeader()

    def test_without_a_writer(self) -> None:
        assert NoHeader().writers == ()


class TestPlace(HeaderContract):
    component = Place()

    def test_title_and_headings(self) -> None:
        assert self.write() == ["First > One", "First > One > Two", "第三"]

    def test_only_one_of_both(self) -> None:
        assert Place(section=False).write(DOCUMENTS, CHUNKS) == ["First", "First", "第三"]
        assert Place(title=False, separator=" / ").write(DOCUMENTS, CHUNKS) == ["One", "One / Two", ""]

    def test_nothing_known_nothing_written(self) -> None:
        first = Spans(CHUNKS.document[:1], CHUNKS.start[:1], CHUNKS.end[:1])
        assert Place().write(Documents(["a"], [""], ["No heading."]), first) == [""]

    def test_nothing_to_write_is_an_error(self) -> None:
        assert Place(title=False, section=False).check() == [
            "title, section: got false for both (for none, header=none)"
        ]
