"""The contract of every parser of files."""

from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.planted_documents import LANGUAGES, SUFFIXES, WRITERS, plant_facts
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.errors import DataError
from components.protocols import FileParser, Parser
from tests.contracts.component_contract import ComponentContract


class ParserContract(ComponentContract, ABC):
    """Contract of parsers of files: `forms` are the planted formats that it reads."""

    component: Parser
    forms: tuple[str, ...]

    @property
    def parser(self) -> FileParser:
        """The parser of files."""
        (part,) = self.component.parts
        return part

    def read(self, file: Path, *, keep_structure: bool = True) -> str:
        """The text of a file."""
        documents, _ = read_documents(file, ReadingOptions(keep_structure=keep_structure, parser=self.component))
        (text,) = documents.texts
        return text

    @abstractmethod
    def alone(self, file: Path) -> list[str]:
        """The texts of the pages, by a straightforward use of the package."""

    def test_component_implements_its_protocols(self) -> None:
        assert isinstance(self.component, Parser)
        assert isinstance(self.parser, FileParser)
        assert {SUFFIXES[form] for form in self.forms} <= set(self.parser.suffixes)

    def test_parser_packages_are_installed(self) -> None:
        assert self.parser.packages
        assert all(find_spec(package) for package in self.parser.packages)

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_parsed_text_equals_the_package(self, language: str, tmp_path: Path) -> None:
        for form in self.forms:
            file = tmp_path / f"planted{SUFFIXES[form]}"
            WRITERS[form](plant_facts(0, language), file)
            assert self.read(file) == "\n\f\n".join(self.alone(file))
            assert self.read(file, keep_structure=False) == "\n".join(self.alone(file))

    def test_parsed_text_contains_planted_headings_and_cells(self, tmp_path: Path) -> None:
        content = plant_facts(3, "zh")
        for form in self.forms:
            file = tmp_path / f"planted{SUFFIXES[form]}"
            WRITERS[form](content, file)
            text = "".join(self.read(file).split())
            assert content.heading in text
            assert all(cell in text for row in content.table for cell in row)

    def test_parser_reads_equal_text_twice(self, tmp_path: Path) -> None:
        for form in self.forms:
            file = tmp_path / f"planted{SUFFIXES[form]}"
            WRITERS[form](plant_facts(1, "en"), file)
            assert self.read(file) == self.read(file)

    @pytest.mark.parametrize("content", [b"", b"no document", b"PK\x03\x04 cut off", b"%PDF-1.4\n1 0 obj"])
    def test_damaged_files_are_errors_that_name_the_file(self, content: bytes, tmp_path: Path) -> None:
        for form in self.forms:
            file = tmp_path / f"damaged{SUFFIXES[form]}"
            file.write_bytes(content)
            with pytest.raises(DataError, match=f"damaged{SUFFIXES[form]}: .* cannot read it"):
                self.read(file)
