"""Tests of components.datasets.parsing_memory: a parser that takes too much memory ends with one error."""

import resource
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsing_memory import MAX_PAGE_GIB
from components.errors import DataError
from components.protocols.parsing import ParsedFile


class Greedy:
    """Allocates `gib` GiB for a page, and uses none of them."""

    version: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = (".pdf",)
    packages: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def __init__(self, gib: int) -> None:
        self.gib = gib

    @property
    def parts(self) -> "tuple[Greedy]":
        return (self,)

    def parse(self, file: Path) -> ParsedFile:
        return ParsedFile("", (f"{len(np.empty(self.gib * 2**30, np.uint8))} bytes" for _ in range(2)))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and limits the address space")
def test_page_beyond_the_memory_limit_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").touch()
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(DataError, match=rf"a\.pdf, page 1: takes more than {MAX_PAGE_GIB} GiB of memory to parse"):
        read_documents(tmp_path, ReadingOptions(parser=Greedy(MAX_PAGE_GIB + 1)))
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_page_within_the_memory_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").touch()
    documents, _ = read_documents(tmp_path, ReadingOptions(parser=Greedy(1)))
    assert documents.texts[0] == "\n".join(["1073741824 bytes"] * 2)
