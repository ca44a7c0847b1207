"""Several parsers in one folder, and the built-in readers."""

from pathlib import Path

from benchmarks.planted_documents import SUFFIXES, WRITERS, plant_facts
from components.datasets.document_files import document_files, read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.built_in import BuiltInReaders
from components.datasets.parsers.combined import CombinedParsers
from components.datasets.parsers.markitdown_files import MarkItDownFiles
from components.datasets.parsers.office import Office
from components.datasets.parsers.plumber import Plumber
from components.protocols import Parser
from tests.contracts.component_contract import ComponentContract


class TestBuiltInReaders(ComponentContract):
    component = BuiltInReaders()

    def test_built_in_readers_have_no_parser_parts(self) -> None:
        assert isinstance(self.component, Parser)
        assert self.component.parts == ()


class TestCombinedParsers(ComponentContract):
    component = CombinedParsers({"pdf": Plumber(), "office": Office(), "rest": MarkItDownFiles()})

    def test_first_parser_of_a_file_type_reads_the_file(self, tmp_path: Path) -> None:
        for form, suffix in SUFFIXES.items():
            if form != "PDF, no rules":
                WRITERS[form](plant_facts(1, "en"), tmp_path / f"a{suffix}")
        read = {}
        for name, parser in {"all": self.component, "pdf": Plumber(), "office": Office()}.items():
            documents, _ = read_documents(tmp_path, ReadingOptions(parser=parser))
            read[name] = dict(zip(documents.ids, documents.texts, strict=True))
        assert read["all"] == {**read["pdf"], **read["office"], "a.pdf": read["pdf"]["a.pdf"]}
        assert set(read["pdf"]) == {"a.pdf", "a.html"}
        assert set(read["all"]) == {f"a{suffix}" for suffix in SUFFIXES.values()}

    def test_combined_parsers_reject_an_empty_list(self) -> None:
        assert CombinedParsers({}).check() == ["use: got none, expected at least one parser"]


def test_files_without_a_matching_parser_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"")
    (tmp_path / "b.txt").write_text("Text.", encoding="utf-8")
    assert set(document_files(tmp_path)) == {"b.txt"}
    assert set(document_files(tmp_path, ReadingOptions(parser=Office()))) == {"a.docx", "b.txt"}
