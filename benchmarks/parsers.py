"""Parsers on planted documents: characters that are lost, sentences that remain whole, rows that remain Markdown."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.measure import Bound, Measure
from benchmarks.planted_documents import LACKS, LANGUAGES, SUFFIXES, WRITERS, Planted, plant_facts
from benchmarks.settings import Settings
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.built_in import BuiltInReaders
from components.datasets.parsers.markitdown_files import MarkItDownFiles
from components.datasets.parsers.office import Office
from components.datasets.parsers.pdfium import Pdfium
from components.datasets.parsers.plumber import Plumber
from components.protocols import Parser

PARSERS: Mapping[str, Parser] = {
    "built_in": BuiltInReaders(),
    "pypdfium2": Pdfium(),
    "pdfplumber": Plumber(),
    "pdfplumber, text_flow=false": Plumber(text_flow=False),
    "office": Office(),
    "markitdown": MarkItDownFiles(("pdf", "docx", "pptx", "xlsx", "html")),
}
_BUILT_IN = (".pdf", ".html")
_N_DOCUMENTS = 20
_SENTENCE = re.compile(r"[^.。]+[.。]")
_NOTHING_LOST = Bound(0.0)


def measure(settings: Settings) -> list[Measure]:
    """Return the measures of every parser on every format and language that it reads."""
    return [
        measure
        for form in WRITERS
        for name, parser in PARSERS.items()
        if reads(parser, SUFFIXES[form])
        for language in LANGUAGES
        for measure in _measures(settings.scratch, f"{form}, {name}, {language}", form, parser, language)
    ]


def reads(parser: Parser, suffix: str) -> bool:
    """Return True if the parser, or the built-in readers, read files with this extension."""
    return any(suffix in part.suffixes for part in parser.parts) if parser.parts else suffix in _BUILT_IN


def _measures(folder: Path, name: str, form: str, parser: Parser, language: str) -> Iterator[Measure]:
    contents = [plant_facts(seed, language) for seed in range(_N_DOCUMENTS)]
    texts: list[str] = []
    seconds = 0.0
    for content in contents:
        file = folder / f"planted{SUFFIXES[form]}"
        WRITERS[form](content, file)
        start = time.perf_counter()
        documents, _ = read_documents(file, ReadingOptions(keep_structure=True, parser=parser))
        seconds += time.perf_counter() - start
        texts += documents.texts
    pairs = list(zip(contents, texts, strict=True))
    wanted = sum(len(_without_spaces(_extract_text(content, form))) for content in contents)
    lost = sum(n_lost(content, text, form) for content, text in pairs)
    bound = _NOTHING_LOST if isinstance(parser, Office) else None
    yield Measure(f"{name}: characters lost", 100 * lost / wanted, "%", f"{lost:,} of {wanted:,}", bound)
    whole, n_sentences = (sum(counts) for counts in zip(*(sentences(*pair) for pair in pairs), strict=True))
    yield Measure(f"{name}: sentences whole", 100 * whole / n_sentences, "%", f"{whole} of {n_sentences}")
    n_found, n_rows = (sum(counts) for counts in zip(*(table_rows(*pair) for pair in pairs), strict=True))
    yield Measure(f"{name}: rows in Markdown", 100 * n_found / n_rows, "%", f"{n_found} of {n_rows}")
    milliseconds = 1000 * seconds / _N_DOCUMENTS
    yield Measure(f"{name}: time", milliseconds, "ms", "per document")


def _extract_text(content: Planted, form: str) -> str:
    """Return all text that a file of this format contains."""
    parts = {"header": content.header, "footnote": content.footnote}
    margins = [text for part, text in parts.items() if part not in LACKS.get(form, ())]
    return "\n".join([content.body, *margins, *(cell for row in content.table for cell in row)])


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def n_lost(content: Planted, text: str, form: str) -> int:
    """Return the number of planted characters, without whitespace, that the text has too few of."""
    wanted = Counter(_without_spaces(_extract_text(content, form)))
    return (wanted - Counter(_without_spaces(text))).total()


def sentences(content: Planted, text: str) -> tuple[int, int]:
    """Return the number of sentences of the body that the text contains unbroken, ignoring whitespace, and of all."""
    read = _without_spaces(text)
    wanted = [_without_spaces(sentence) for sentence in _SENTENCE.findall(content.body)]
    return sum(sentence in read for sentence in wanted), len(wanted)


def table_rows(content: Planted, text: str) -> tuple[int, int]:
    """Return the number of rows of the table that are rows of Markdown with their cells in order, and of all."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]
    return sum(list(row) in lines for row in content.table), len(content.table)
