"""Word, PowerPoint and Excel by python-docx, python-pptx and openpyxl: headings and tables in Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from components.datasets.word_xml import WORD, unwrap
from components.errors import DataError
from components.protocols.parsing import ParsedFile
from components.text.markdown_tables import markdown_table

if TYPE_CHECKING:
    from docx.document import Document
    from docx.section import _Footer, _Header
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph
    from openpyxl import Workbook
    from openpyxl.packaging.workbook import ChildSheet
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide

_NO_TITLE = "Word Document"
_HEADING = "Heading "
_SHEET_TAG = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}worksheet"
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
"""The size of a sheet in Excel and LibreOffice."""
_MAX_EMPTY_CELLS = 10_000_000
"""Maximum number of empty cells of a workbook that are written to the left of cells with text."""


@dataclass(frozen=True)
class Office:
    """Reads DOCX as one page, PPTX by slide, and XLSX by sheet under its name.

    - `margins`: headers and footers of DOCX, each once, before and after the text;
    - `notes`: footnotes and endnotes of DOCX, after the text, and notes of slides.

    Text in shapes that float above a DOCX is not read, nor are tracked deletions; tracked insertions are. Cells of XLSX
    have the values that the program last saved.
    """

    margins: bool = True
    notes: bool = True

    version: ClassVar[int] = 7
    suffixes: ClassVar[tuple[str, ...]] = (".docx", ".pptx", ".xlsx")
    packages: ClassVar[tuple[str, ...]] = ("docx", "openpyxl", "pptx")
    extra: ClassVar[str] = "office"

    @property
    def parts(self) -> "tuple[Office]":
        """The parser itself."""
        return (self,)

    def parse(self, file: Path) -> ParsedFile:
        """Return the text of the file."""
        read: Mapping[str, Callable[[Path], ParsedFile]]
        read = {".docx": self._read_docx, ".pptx": self._read_pptx, ".xlsx": _read_xlsx}
        return read[file.suffix.lower()](file)

    def _read_docx(self, file: Path) -> ParsedFile:
        from docx import Document

        document = Document(str(file))
        unwrap(document.element)
        title = document.core_properties.title
        title = "" if title == _NO_TITLE else title  # python-docx invents it for a file without properties
        return ParsedFile(title, iter(["\n".join(self._docx_blocks(document))]))

    def _docx_blocks(self, document: "Document") -> Iterator[str]:
        if self.margins:
            yield from _margins(section.header for section in document.sections)
        for block in document.iter_inner_content():
            yield from _docx_block(block)
        if self.notes:
            yield from _docx_notes(document)
        if self.margins:
            yield from _margins(section.footer for section in document.sections)

    def _read_pptx(self, file: Path) -> ParsedFile:
        from pptx import Presentation

        slides = Presentation(str(file))
        return ParsedFile(
            slides.core_properties.title, ("\n".join(self._slide_texts(slide)) for slide in slides.slides)
        )

    def _slide_texts(self, slide: "Slide") -> Iterator[str]:
        title = slide.shapes.title
        if title is not None and title.text_frame.text.strip():
            yield f"# {' '.join(title.text_frame.text.split())}"
        yield from _shape_texts(shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id)
        yield from self._slide_notes(slide)

    def _slide_notes(self, slide: "Slide") -> list[str]:
        frame = slide.notes_slide.notes_text_frame if self.notes and slide.has_notes_slide else None
        return [frame.text] if frame is not None and frame.text.strip() else []


def _docx_block(block: "Paragraph | Table") -> Iterator[str]:
    from docx.table import Table

    if isinstance(block, Table):
        yield f"\n{_docx_table(block)}\n"
    elif block.text.strip():
        style = (block.style and block.style.name) or ""
        level = style.removeprefix(_HEADING) if style.startswith(_HEADING) else ""
        yield f"{'#' * int(level)} {block.text}" if level.isdecimal() else block.text


def _docx_table(table: "Table") -> str:
    """Return the table with the text of merged cells once."""
    rows = []
    for row in table.rows:
        cells = list(row.cells)
        rows.append(
            ["" if cell._tc in [other._tc for other in cells[:i]] else _cell_text(cell) for i, cell in enumerate(cells)]
        )
    return markdown_table(rows)


def _cell_text(cell: "_Cell") -> str:
    """Return the paragraphs of a cell and of the tables in it, one per line."""
    from docx.table import Table

    lines: list[str] = []
    for block in cell.iter_inner_content():
        if isinstance(block, Table):
            cells = {inner._tc: inner for row in block.rows for inner in row.cells}  # merged ones are listed repeatedly
            lines += map(_cell_text, cells.values())
        else:
            lines.append(block.text)
    return "\n".join(lines)


def _margins(margins: "Iterable[_Header | _Footer]") -> Iterator[str]:
    """Yield the distinct texts of headers or footers."""
    texts = (block for margin in margins for block in _read_blocks(margin))
    yield from dict.fromkeys(texts)


def _read_blocks(container: "_Header | _Footer") -> Iterator[str]:
    if not container.is_linked_to_previous:
        unwrap(container._element)
        for block in container.iter_inner_content():
            yield from _docx_block(block)


def _docx_notes(document: "Document") -> Iterator[str]:
    """Yield the text of each footnote and endnote. python-docx has no interface to them."""
    from docx.oxml.parser import parse_xml
    from docx.oxml.text.paragraph import CT_P

    for relation in document.part.rels.values():
        if relation.reltype.rpartition("/")[2] not in ("footnotes", "endnotes"):
            continue
        root = parse_xml(relation.target_part.blob)
        unwrap(root)
        for note in root:
            text = "\n".join(each.text for each in note.iter(f"{WORD}p") if isinstance(each, CT_P)).strip()
            if text and note.get(f"{WORD}type") is None:  # others are lines that separate notes from text
                yield text


def _shape_texts(shapes: "Iterable[BaseShape]") -> Iterator[str]:
    """Yield the texts and tables of shapes, in groups too, in the order of the file."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shape_texts(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield f"\n{markdown_table([cell.text for cell in row.cells] for row in shape.table.rows)}\n"
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield shape.text_frame.text.replace("\v", "\n")


def _read_xlsx(file: Path) -> ParsedFile:
    from openpyxl.chartsheet import Chartsheet
    from openpyxl.reader.excel import ExcelReader

    reader = ExcelReader(file, read_only=True, data_only=True)

    def keep_place(sheet: "ChildSheet", relation: object) -> None:
        """Add an empty chart for a chart sheet. Its file is not read, because it has no cells."""
        chart = Chartsheet(parent=reader.wb)
        chart.title = sheet.name
        reader.wb._add_sheet(chart)

    reader.read_chartsheet = keep_place
    reader.read()
    sheets = list(reader.parser.find_sheets())
    if len(sheets) < len(reader.parser.sheets) or not sheets:
        reader.wb.close()
        raise DataError(
            f"{file}: lists {len(reader.parser.sheets)} sheets, but only {len(sheets)} can be found. Save the "
            "file as an Excel workbook (.xlsx), not as a Strict Open XML one, or remove it."
        )
    for sheet, relation in sheets:
        if relation.target not in reader.valid_files:  # openpyxl leaves such a sheet out
            reader.wb.close()
            raise DataError(
                f"{file}: lacks {relation.target}, the cells of its sheet {sheet.name!r}, expected a file for "
                "each sheet. Repair the file, or remove it."
            )
    return ParsedFile(reader.wb.properties.title or "", _sheets(reader.wb, file))


def _sheets(book: "Workbook", file: Path) -> Iterator[str]:
    n_empty = 0
    try:
        for sheet in book.worksheets:
            rows = []
            for number, cells in _read_rows(sheet, f"{file}, sheet {sheet.title!r}"):
                n_empty += max(cells) - len(cells)
                if n_empty > _MAX_EMPTY_CELLS:
                    raise DataError(
                        f"{file}, sheet {sheet.title!r}, cell {_name(number, max(cells))}: the sheet has more "
                        f"than {_MAX_EMPTY_CELLS:,} empty cells before this one, expected a table. Remove cells "
                        "far to the right, empty columns, or the file."
                    )
                rows.append([cells.get(column, "") for column in range(1, max(cells) + 1)])
            if rows:
                rows[0] += [""] * (max(map(len, rows)) - len(rows[0]))
            table = markdown_table(rows)
            yield f"# {sheet.title}\n\n{table}" if table else ""
    finally:
        book.close()


@dataclass(frozen=True)
class _SharedTexts:
    """The shared texts of a workbook, by number. A plain list would accept -1 as the last one."""

    texts: Sequence[str]
    location: str

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self.texts):
            raise DataError(
                f"{self.location}: a cell has the shared text {number}, but the workbook has {len(self.texts)}, "
                "counted from 0. Save the file again as an Excel workbook (.xlsx), or remove it."
            )
        return self.texts[number]


def _require_cells(sheet: "ReadOnlyWorksheet", location: str) -> None:
    """Raise DataError for a sheet whose elements openpyxl does not know, and would skip."""
    from openpyxl.xml.functions import iterparse

    with sheet._get_source() as source:
        _, root = next(iterparse(source, events=("start",)))
    if root.tag != _SHEET_TAG:
        raise DataError(
            f"{location}: has the elements of {root.tag}, expected {_SHEET_TAG}. Save the file as an Excel workbook "
            "(.xlsx), not as a Strict Open XML one, or remove it."
        )


def _read_rows(sheet: "ReadOnlyWorksheet", location: str) -> list[tuple[int, dict[int, str]]]:
    """Return the texts of the cells with text by column, for each row that has some, in order.

    openpyxl's own rows stop at the range that a file states, lose rows that are not in order, and add all missing ones.
    """
    from openpyxl.utils.escape import unescape
    from openpyxl.worksheet._reader import WorkSheetParser

    _require_cells(sheet, location)
    rows: dict[int, dict[int, str]] = {}
    book = sheet.parent
    with sheet._get_source() as source:
        parser = WorkSheetParser(
            source,
            _SharedTexts(sheet._shared_strings, location),
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for cell in (cell for _, cells in parser.parse() for cell in cells):
            text = "" if cell["value"] is None else str(cell["value"])
            if cell["data_type"] == "s":
                text = unescape(text)
            row, column = cell["row"], cell["column"]
            if not text.strip():
                continue
            if not (1 <= row <= _MAX_ROWS and 1 <= column <= _MAX_COLUMNS):
                raise DataError(
                    f"{location}, cell {_name(row, column)}: is outside of a sheet, which has {_MAX_ROWS:,} rows and "
                    f"{_MAX_COLUMNS:,} columns at most. Correct or remove the cell."
                )
            if column in rows.setdefault(row, {}):
                raise DataError(f"{location}, cell {_name(row, column)}: occurs twice. Remove one of them.")
            rows[row][column] = text
    return sorted(rows.items())


def _name(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"
