"""Office files by python-docx, python-pptx and openpyxl, against a reading of their XML."""

import re
import zipfile
from dataclasses import replace
from html import unescape
from pathlib import Path
from time import process_time

import pytest

from benchmarks.planted_documents import plant_facts, write_docx, write_pptx, write_xlsx
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.office import Office
from components.errors import DataError
from tests.contracts.parser_contract import ParserContract


def xml_of(file: Path, name: str) -> str:
    with zipfile.ZipFile(file) as archive:
        return archive.read(name).decode()


def texts_in(xml: str, tag: str) -> list[str]:
    """The texts of each element with this tag, without elements in it."""
    parts = re.findall(rf"<{tag}[ >].*?</{tag}>", xml, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", part) for part in parts]


def table_of(rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return ["", lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:], ""]


def docx_alone(file: Path) -> str:
    body = xml_of(file, "word/document.xml")
    before, table, after = re.split(r"(<w:tbl>.*</w:tbl>)", body, flags=re.DOTALL)
    rows = [texts_in(row, "w:p") for row in re.findall(r"<w:tr>.*?</w:tr>", table, re.DOTALL)]
    head, *paragraphs = texts_in(before, "w:p")
    return "\n".join(
        [
            *texts_in(xml_of(file, "word/header1.xml"), "w:p"),
            f"# {head}",
            *paragraphs,
            *table_of(rows),
            *texts_in(after, "w:p"),
            *texts_in(xml_of(file, "word/footnotes.xml"), "w:t"),
        ]
    )


def pptx_alone(file: Path) -> list[str]:
    first, second = (xml_of(file, f"ppt/slides/slide{number}.xml") for number in (1, 2))
    head, *paragraphs = texts_in(first, "a:p")
    (notes,) = [text for text in texts_in(xml_of(file, "ppt/notesSlides/notesSlide1.xml"), "a:p") if text]
    boxes = texts_in(second.partition("<a:tbl>")[0], "a:p")
    rows = [texts_in(row, "a:p") for row in re.findall(r"<a:tr .*?</a:tr>", second, re.DOTALL)]
    return ["\n".join([f"# {head}", *paragraphs, notes]), "\n".join([*boxes, *table_of(rows)])]


def xlsx_alone(file: Path) -> list[str]:
    pages = []
    for number, name in ((1, "Sheet"), (2, "Text")):
        xml = xml_of(file, f"xl/worksheets/sheet{number}.xml")
        rows = [[unescape(cell) for cell in texts_in(row, "t")] for row in texts_of_rows(xml)]
        pages.append("\n".join([f"# {name}", *table_of(rows)[:-1]]))
    return pages


def texts_of_rows(xml: str) -> list[str]:
    return re.findall(r"<row .*?</row>", xml, re.DOTALL)


class TestOffice(ParserContract):
    component = Office()
    forms = ("DOCX", "PPTX", "XLSX")

    def alone(self, file: Path) -> list[str]:
        return {
            ".docx": lambda: [docx_alone(file)],
            ".pptx": lambda: pptx_alone(file),
            ".xlsx": lambda: xlsx_alone(file),
        }[file.suffix]()


def _read(file: Path, parser: Office) -> str:
    return read_documents(file, ReadingOptions(parser=parser))[0].texts[0]


@pytest.mark.parametrize(("margins", "notes"), [(True, False), (False, True), (False, False)])
def test_office_parser_leaves_out_disabled_margins_and_notes(margins: bool, notes: bool, tmp_path: Path) -> None:
    content = plant_facts(1, "en")
    write_docx(content, tmp_path / "a.docx")
    write_pptx(content, tmp_path / "a.pptx")
    parser = Office(margins=margins, notes=notes)
    assert (content.header in _read(tmp_path / "a.docx", parser)) == margins
    for name in ("a.docx", "a.pptx"):
        assert (content.footnote in _read(tmp_path / name, parser)) == notes
        assert content.paragraphs[0] in _read(tmp_path / name, parser)


def test_merged_word_cells_are_written_once(tmp_path: Path) -> None:
    from docx import Document

    document = Document()
    table = document.add_table(rows=2, cols=3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text, table.cell(1, 0).text = "a|b", "c\nd"
    document.save(str(tmp_path / "a.docx"))
    assert _read(tmp_path / "a.docx", Office()).strip().splitlines() == [
        "| wide |  | a\\|b |", "| --- | --- | --- |", "| c d |  |  |",
    ]  # fmt: skip


def test_word_file_without_properties_has_its_name_as_title(tmp_path: Path) -> None:
    from docx import Document

    document = Document()
    document.add_paragraph("Pay at Pier 3.")
    document.save(str(tmp_path / "whole.docx"))
    with zipfile.ZipFile(tmp_path / "whole.docx") as whole, zipfile.ZipFile(tmp_path / "fees.docx", "w") as without:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "_rels/.rels":
                content = re.sub(rb"<Relationship [^>]*core-properties[^>]*/>", b"", content)
            if name != "docProps/core.xml":
                without.writestr(name, content)
    (tmp_path / "whole.docx").unlink()
    documents, _ = read_documents(tmp_path, ReadingOptions(parser=Office()))
    assert list(documents.titles) == ["fees"]


def test_nested_word_tables_are_read(tmp_path: Path) -> None:
    from docx import Document

    document = Document()
    outer = document.add_table(1, 2)
    outer.cell(0, 0).text = "outer"
    inner = outer.cell(0, 1).add_table(2, 2)
    inner.cell(0, 0).merge(inner.cell(0, 1)).text = "merged"
    inner.cell(1, 0).text, inner.cell(1, 1).text = "left", "right"
    document.save(str(tmp_path / "a.docx"))
    documents, _ = read_documents(tmp_path, ReadingOptions(parser=Office()))
    assert "| outer | merged left right |" in documents.texts[0]


def _run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def _math(text: object) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _write_word(file: Path, xml: str, where: str = "word/document.xml", before: str = "<w:sectPr") -> None:
    """Write a document with elements before the last one of a kind in one of its files."""
    write_docx(plant_facts(1, "en"), file)
    head, tag, rest = xml_of(file, where).rpartition(before)
    assert tag
    space = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    xml = xml.replace("<m:oMath>", f'<m:oMath xmlns:m="{space}">')
    _edit(file, where, f"{head}{xml}{tag}{rest}".encode())


_SDT = "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>"
_DELETED = f'<w:del w:id="2">{_run("LOST").replace("w:t", "w:delText")}</w:del><w:moveFrom>{_run("LOST")}</w:moveFrom>'
_INSERTED = f"<w:ins>{_run('in')}</w:ins>"
_CELL = f"<w:tc><w:p>{_run('cell')}</w:p></w:tc>"
_SPACES = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)
_BOX = f"<w:txbxContent><w:p>{_run('b')}</w:p><w:p>{_run('c')}</w:p></w:txbxContent>"
_OLD_BOX = f"<w:pict><v:shape><v:textbox>{_BOX}</v:textbox></v:shape></w:pict>"
_NEW_BOX = f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{_BOX}</wps:txbx></w:drawing></mc:Choice>'
_BOTH_BOXES = f"<mc:AlternateContent>{_NEW_BOX}<mc:Fallback>{_OLD_BOX}</mc:Fallback></mc:AlternateContent>"


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        (f"<w:p>{_run('a')}{_SDT.format(_run('b'))}{_run('c')}</w:p>", "abc"),
        (f"<w:p>{_run('a')}<w:ins>{_SDT.format(_run('b'))}{_DELETED}</w:ins>{_run('c')}</w:p>", "abc"),
        (_SDT.format(f"<w:p>{_run('a')}</w:p><w:customXml><w:p>{_run('b')}</w:p></w:customXml>"), "a\nb"),
        (f"<w:p>{_run('a')}<w:moveTo>{_run('b')}</w:moveTo>{_DELETED}</w:p>", "ab"),
        (f"<w:moveTo><w:p>{_run('a')}</w:p></w:moveTo><w:moveFrom><w:p>{_run('LOST')}</w:p></w:moveFrom>", "a"),
        (f"<w:p>{_run('a')}<w:smartTag><w:smartTag>{_run('b')}</w:smartTag></w:smartTag></w:p>", "ab"),
        (f"<w:p><w:fldSimple><w:hyperlink><w:ins>{_run('a')}</w:ins></w:hyperlink></w:fldSimple></w:p>", "a"),
        (f"<w:p>{_SDT.format('<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>')}</w:p>", "a\tb\nc"),
        (f"<w:p>{_run('a')}<m:oMath><m:r><m:t>E=</m:t></m:r><m:r><m:t>m</m:t></m:r></m:oMath></w:p>", "aE=m"),
        (
            f"<w:p><w:r><w:ruby><w:rt>{_run('LOST')}</w:rt><w:rubyBase>{_run('a')}</w:rubyBase></w:ruby></w:r></w:p>",
            "a",
        ),
        (f"<w:p {_SPACES}>{_run('a')}<w:r>{_BOTH_BOXES}</w:r></w:p><w:p>{_run('d')}</w:p>", "a\nb\nc\nd"),
        (f"<w:p {_SPACES}><w:r>{_OLD_BOX}</w:r>{_run('a')}</w:p>", "a\nb\nc"),
        (f"<w:p {_SPACES}>{_run('a')}<w:del><w:r>{_OLD_BOX}</w:r></w:del></w:p>", "a"),
        (f"<w:p {_SPACES}><w:r>{_BOTH_BOXES.replace(_NEW_BOX, _NEW_BOX * 2)}</w:r></w:p>", "b\nc"),
        (f"<w:tbl><w:tr>{_SDT.format(_CELL)}</w:tr></w:tbl>", "| cell |"),
        (f"<w:tbl>{_SDT.format(f'<w:tr>{_CELL}</w:tr>')}</w:tbl>", "| cell |"),
        (f"<w:tbl><w:tr>{_CELL}</w:tr><w:tr><w:trPr><w:del/></w:trPr>{_CELL}</w:tr></w:tbl>", "| cell |"),
        (f"<w:tbl><w:tr>{_CELL.replace('<w:p>', '<w:p>' + _INSERTED)}</w:tr></w:tbl>", "| incell |"),
        (f"<w:p><m:oMath><m:f><m:num>{_math(1)}</m:num><m:den>{_math(2)}</m:den></m:f></m:oMath></w:p>", "1/2"),
        (f"<w:p><m:oMath><m:sSup><m:e>{_math('x')}</m:e><m:sup>{_math(2)}</m:sup></m:sSup></m:oMath></w:p>", "x^2"),
        (f"<w:p><m:oMath><m:nary><m:sup/><m:e>{_math('x')}</m:e></m:nary></m:oMath></w:p>", "x"),
    ],
)
def test_text_in_nested_word_elements_is_read_in_order(xml: str, expected: str, tmp_path: Path) -> None:
    parser = Office(margins=False, notes=False)
    _write_word(tmp_path / "a.docx", "")
    _write_word(tmp_path / "b.docx", xml)
    text = _read(tmp_path / "b.docx", parser).removeprefix(_read(tmp_path / "a.docx", parser))
    assert text.replace("| --- |", "").strip() == expected


@pytest.mark.parametrize("n_deleted", [1, 2])
@pytest.mark.parametrize("first", ["", f"<w:tr>{_CELL}{_CELL}</w:tr>"])
def test_rows_below_a_deleted_row_start_its_vertical_merge(first: str, n_deleted: int, tmp_path: Path) -> None:
    merged = _CELL.replace("<w:tc>", '<w:tc><w:tcPr><w:vMerge w:val="{}"/></w:tcPr>')
    deleted = f"<w:tr><w:trPr><w:del/></w:trPr>{merged.format('restart')}{_CELL}</w:tr>"
    deleted += f"<w:tr><w:trPr><w:del/></w:trPr>{merged.format('continue')}{_CELL}</w:tr>" * (n_deleted - 1)
    last = f"<w:tr>{merged.format('continue').replace(_run('cell'), _run('left'))}{_CELL}</w:tr>"
    _write_word(tmp_path / "b.docx", f"<w:tbl>{first}{deleted}{last}</w:tbl>")
    rows = [
        line for line in _read(tmp_path / "b.docx", Office(margins=False, notes=False)).splitlines() if "cell" in line
    ]
    assert rows == (["| cell | cell |"] if first else []) + ["| left | cell |"]


@pytest.mark.parametrize(
    ("where", "before"), [("word/header1.xml", "</w:hdr>"), ("word/footnotes.xml", "</w:footnote>")]
)
def test_nested_text_of_word_margins_and_notes_is_read(where: str, before: str, tmp_path: Path) -> None:
    xml = _SDT.format(f"<w:p>{_run('in')}<w:ins>{_run('side')}</w:ins>{_DELETED}</w:p>")
    _write_word(tmp_path / "a.docx", xml, where, before)
    text = _read(tmp_path / "a.docx", Office())
    assert ("inside" in text, "LOST" in text) == (True, False)


def test_sheet_values_are_the_saved_values(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["n", 1.5, None, True])
    book.active.append([None, None, None, None])
    book.create_sheet("Empty")
    book.save(tmp_path / "a.xlsx")
    documents, _ = read_documents(tmp_path, ReadingOptions(keep_structure=True, parser=Office()))
    assert documents.texts == ["# Sheet\n\n| n | 1.5 |  | True |\n| --- | --- | --- | --- |\n\f\n"]


def test_office_archive_that_unpacks_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_xlsx(replace(plant_facts(1, "en"), paragraphs=["x" * 20_000]), tmp_path / "a.xlsx")
    assert _read(tmp_path / "a.xlsx", Office())
    monkeypatch.setattr("components.datasets.parsed_file.MAX_WHOLE_FILE_BYTES", 20_000)
    with pytest.raises(DataError, match=r"a\.xlsx: contains [\d,]+ bytes, expected at most 20,000"):
        _read(tmp_path / "a.xlsx", Office())


def _edit(file: Path, name: str, text: bytes | None) -> None:
    """Replace a member of an archive with a text, or remove it."""
    with zipfile.ZipFile(file) as archive:
        members = {each: archive.read(each) for each in archive.namelist() if each != name}
    with zipfile.ZipFile(file, "w") as archive:
        for each, content in members.items():
            archive.writestr(each, content)
        if text is not None:
            archive.writestr(name, text)


def _write_book(file: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Font

    book = Workbook()
    assert book.active is not None
    book.active.append(["a", "b"])
    book.active.append(["c", "d", "e"])
    book.active.cell(2, 500).font = Font(bold=True)
    book.save(file)


_SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize("stated", [b'<dimension ref="A1"/>', b'<dimension ref="A1:XFD1048576"/>', b""])
def test_workbook_cells_outside_the_stated_range_are_read(stated: bytes, tmp_path: Path) -> None:
    _write_book(tmp_path / "a.xlsx")
    sheet = xml_of(tmp_path / "a.xlsx", _SHEET).encode()
    _edit(tmp_path / "a.xlsx", _SHEET, re.sub(rb"<dimension[^>]*/>", stated, sheet))
    table = "| a | b |  |\n| --- | --- | --- |\n| c | d | e |"
    assert _read(tmp_path / "a.xlsx", Office()) == f"# Sheet\n\n{table}"


def test_workbook_without_the_file_of_a_sheet_is_refused(tmp_path: Path) -> None:
    _write_book(tmp_path / "a.xlsx")
    _edit(tmp_path / "a.xlsx", _SHEET, None)
    with pytest.raises(DataError, match=rf"a\.xlsx: lacks {_SHEET}, the cells of its sheet 'Sheet', expected a file"):
        _read(tmp_path / "a.xlsx", Office())


def _write_rows(file: Path, *rows: str) -> None:
    """Write a book whose sheet has the rows as they are written in XML."""
    _write_book(file)
    sheet = xml_of(file, _SHEET)
    _edit(file, _SHEET, re.sub("<sheetData>.*</sheetData>", f"<sheetData>{''.join(rows)}</sheetData>", sheet).encode())


def _row(number: int, *places: str) -> str:
    cells = "".join(f'<c r="{place}{number}"><v>{number}</v></c>' for place in places)
    return f'<row r="{number}">{cells}</row>'


def test_workbook_rows_and_cells_are_read_in_any_order(tmp_path: Path) -> None:
    _write_rows(tmp_path / "a.xlsx", _row(9, "C", "A"), _row(4, "A", "B"), _row(9, "B"))
    assert _read(tmp_path / "a.xlsx", Office()) == "# Sheet\n\n| 4 | 4 |  |\n| --- | --- | --- |\n| 9 | 9 | 9 |"


@pytest.mark.parametrize("cell", ["A1048577", "A99999999", "A1000000000000", "XFE3", "A0"])
def test_workbook_cell_outside_of_a_sheet_is_refused(cell: str, tmp_path: Path) -> None:
    column, row = re.fullmatch("([A-Z]+)([0-9]+)", cell).groups()  # type: ignore[union-attr]
    _write_rows(tmp_path / "a.xlsx", _row(1, "A"), _row(int(row), column))
    before = process_time()
    with pytest.raises(DataError, match=rf"a\.xlsx, sheet 'Sheet', cell {cell}: is outside of a sheet, .*Correct or"):
        _read(tmp_path / "a.xlsx", Office())
    assert process_time() - before < 2


def test_workbook_cell_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    _write_rows(tmp_path / "a.xlsx", _row(2, "A"), _row(2, "B", "A"))
    with pytest.raises(DataError, match=r"a\.xlsx, sheet 'Sheet', cell A2: occurs twice"):
        _read(tmp_path / "a.xlsx", Office())


def test_distant_last_cell_widens_only_the_head_of_a_sheet(tmp_path: Path) -> None:
    _write_rows(tmp_path / "a.xlsx", *(_row(number, "A") for number in range(1, 3000)), _row(1_048_576, "XFD"))
    lines = _read(tmp_path / "a.xlsx", Office()).splitlines()[2:]
    assert [lines[0].count("|"), lines[2], lines[-1].split()[-2]] == [16_385, "| 2 |", "1048576"]
    assert sum(map(len, lines)) < 300_000


def test_too_many_empty_cells_before_text_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [_row(1, "A", "D"), _row(2, "C"), _row(3, "D")]
    _write_rows(tmp_path / "a.xlsx", *rows)
    monkeypatch.setattr("components.datasets.parsers.office._MAX_EMPTY_CELLS", 7)
    assert _read(tmp_path / "a.xlsx", Office()).endswith("\n|  |  |  | 3 |")
    monkeypatch.setattr("components.datasets.parsers.office._MAX_EMPTY_CELLS", 6)
    with pytest.raises(
        DataError,
        match=r"a\.xlsx, sheet 'Sheet', cell D3: the sheet has more than 6 empty cells before this one.*Remove",
    ):
        _read(tmp_path / "a.xlsx", Office())


@pytest.mark.parametrize("space", [' xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"', ""])
def test_workbook_sheet_of_another_format_is_refused(space: str, tmp_path: Path) -> None:
    _write_book(tmp_path / "a.xlsx")
    sheet = xml_of(tmp_path / "a.xlsx", _SHEET)
    _edit(tmp_path / "a.xlsx", _SHEET, re.sub(r'(<worksheet[^>]*?) xmlns="[^"]*"', rf"\1{space}", sheet).encode())
    with pytest.raises(DataError, match=r"a\.xlsx, sheet 'Sheet': has the elements of .*Save the file as an Excel"):
        _read(tmp_path / "a.xlsx", Office())


@pytest.mark.parametrize("number", [-1, 2, 99])
def test_missing_shared_string_of_a_workbook_is_refused(number: int, tmp_path: Path) -> None:
    _write_rows(tmp_path / "a.xlsx", f'<row r="1"><c r="A1" t="s"><v>{number}</v></c></row>')
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    texts = f'<sst xmlns="{main}"><si><t>x</t></si><si><t>y</t></si></sst>'
    _edit(tmp_path / "a.xlsx", "xl/sharedStrings.xml", texts.encode())
    kinds = xml_of(tmp_path / "a.xlsx", "[Content_Types].xml")
    if "sharedStrings" not in kinds:
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
        _edit(tmp_path / "a.xlsx", "[Content_Types].xml", kinds.replace("</Types>", part).encode())
    with pytest.raises(DataError, match=rf"a\.xlsx, sheet 'Sheet': a cell has the shared text {number}, but .* has 2,"):
        _read(tmp_path / "a.xlsx", Office())


def test_chart_sheets_are_left_out(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.create_chartsheet("Chart", 0)
    book.worksheets[0].append(["a"])
    book.save(tmp_path / "a.xlsx")
    assert _read(tmp_path / "a.xlsx", Office()) == "# Sheet\n\n| a |\n| --- |"


@pytest.mark.parametrize("kind", ["inlineStr", "str"])
def test_escaped_characters_of_a_workbook_are_decoded(kind: str, tmp_path: Path) -> None:
    text = "a_x000D_\nb_x0041_ _x005F_x000D_"
    content = f"<is><t>{text}</t></is>" if kind == "inlineStr" else f"<v>{text}</v>"
    _write_rows(tmp_path / "a.xlsx", f'<row r="1"><c r="A1" t="{kind}">{content}</c></row>')
    assert "| a bA _x000D_ |" in _read(tmp_path / "a.xlsx", Office())


@pytest.mark.filterwarnings("ignore:File contains an invalid specification:UserWarning")
def test_strict_workbook_is_refused(tmp_path: Path) -> None:
    _write_book(tmp_path / "a.xlsx")
    schemas = "http://schemas.openxmlformats.org"
    for name in (_SHEET, "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "_rels/.rels"):
        xml = xml_of(tmp_path / "a.xlsx", name)
        for part in ("spreadsheetml/2006/", "officeDocument/2006/"):
            xml = xml.replace(f"{schemas}/{part}", f"http://purl.oclc.org/ooxml/{part.removesuffix('2006/')}")
        _edit(tmp_path / "a.xlsx", name, xml.encode())
    with pytest.raises(
        DataError, match=r"a\.xlsx: lists 1 sheets, but only 0 can be found\. Save the file as an Excel"
    ):
        _read(tmp_path / "a.xlsx", Office())
