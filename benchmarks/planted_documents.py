"""Documents in several formats whose text and tables are known: paragraphs, two columns, headers, footnotes, tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reportlab.platypus import Flowable

_WORDS = """
    bridge harbour engineer copper valley ledger winter signal garden market station measure river paper lantern
    orchard granite meadow bottle village copper timber kettle window pencil mirror basket ribbon saddle carpet
""".split()
_CHARACTERS = "桥港工程师铜山谷账本冬天信号花园市场车站测量河流纸灯笼果园石头草地瓶村木材水壶窗户铅笔镜子篮丝带马鞍地毯"
_CHINESE_FONT = "STSong-Light"
LANGUAGES = ("en", "zh")
_N_ROWS = 5


@dataclass(frozen=True)
class Planted:
    """The parts of a document: `title`, `heading`, `paragraphs`, `left` and `right` columns, `header`, `footnote`, and
    the cells of `table` by row. Parts that a format lacks are empty.
    """

    title: str
    heading: str
    paragraphs: Sequence[str]
    table: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    header: str = ""
    footnote: str = ""
    language: str = field(default="en")

    @property
    def body(self) -> str:
        """The text outside tables, margins and notes."""
        return "\n".join([self.heading, *self.paragraphs, *self.columns])


def plant_facts(seed: int, language: str) -> Planted:
    """Return the content of a document, drawn with a seed: in English ("en") or Chinese ("zh")."""
    chance = Random(seed)
    sentence = _sentence_zh if language == "zh" else _sentence_en
    join = "" if language == "zh" else " "

    def text(n: int) -> str:
        return join.join(sentence(chance) for _ in range(n))

    def cell(number: int) -> str:
        return f"{_name(chance, language)}{number}"

    table = [[cell(column) for column in range(3)]]
    table += [
        [_name(chance, language), *(str(chance.randrange(100, 10_000)) for _ in range(2))] for _ in range(_N_ROWS)
    ]
    return Planted(
        f"{_name(chance, language)} {seed}",
        sentence(chance),
        [text(5), text(4)],
        table,
        (text(8), text(8)),
        sentence(chance),
        sentence(chance),
        language,
    )


def _name(chance: Random, language: str) -> str:
    return "".join(chance.sample(_CHARACTERS, 2)) if language == "zh" else chance.choice(_WORDS).capitalize()


def _sentence_en(chance: Random) -> str:
    return " ".join(chance.choices(_WORDS, k=8)).capitalize() + "."


def _sentence_zh(chance: Random) -> str:
    return "".join(chance.choices(_CHARACTERS, k=14)) + "。"


def write_pdf(planted: Planted, file: Path, *, rules: bool = True) -> None:
    """Write a page with a header, a heading, paragraphs, a table (with `rules` or without), two columns of text and a
    footnote.
    """
    from reportlab.lib.colors import black
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.platypus import BaseDocTemplate, Frame, FrameBreak, PageTemplate, Paragraph, Table, TableStyle

    is_chinese = planted.language == "zh"
    style = getSampleStyleSheet()["BodyText"]
    if is_chinese:
        registerFont(UnicodeCIDFont(_CHINESE_FONT))
        style = ParagraphStyle("chinese", parent=style, fontName=_CHINESE_FONT, wordWrap="CJK")
    width, height = A4
    top = Frame(50, height / 2, width - 100, height / 2 - 70)
    halves = [Frame(left, 70, width / 2 - 60, height / 2 - 80) for left in (50, width / 2 + 10)]

    def margins(canvas: Any, _document: object) -> None:
        canvas.setFont(style.fontName, 9)
        canvas.drawString(50, height - 40, planted.header)
        canvas.drawString(50, 40, f"1 {planted.footnote}")

    table = Table([list(row) for row in planted.table])
    table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, black)] if rules else []))
    table.setStyle(TableStyle([("FONTNAME", (0, 0), (-1, -1), style.fontName)]))
    story: list[Flowable] = [
        Paragraph(planted.heading, style),
        *(Paragraph(text, style) for text in planted.paragraphs),
    ]
    story += [
        table,
        FrameBreak(),
        Paragraph(planted.columns[0], style),
        FrameBreak(),
        Paragraph(planted.columns[1], style),
    ]
    document = BaseDocTemplate(str(file), title=planted.title, pagesize=A4)
    document.addPageTemplates([PageTemplate(frames=[top, *halves], onPage=margins)])
    document.build(story)


def write_docx(planted: Planted, file: Path) -> None:
    """Write a heading, paragraphs, a table, a header and a footnote. The columns are paragraphs."""
    from docx import Document
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    document = Document()
    document.core_properties.title = planted.title
    document.sections[0].header.paragraphs[0].text = planted.header
    document.add_heading(planted.heading, 1)
    for text in (*planted.paragraphs, *planted.columns):
        document.add_paragraph(text)
    table = document.add_table(rows=0, cols=len(planted.table[0]))
    for row in planted.table:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    notes = (
        f'<w:footnotes xmlns:w="{name}"><w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote>'
        f'<w:footnote w:id="1"><w:p><w:r><w:t>{planted.footnote}</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    from docx.oxml import parse_xml

    mark = parse_xml(f'<w:r xmlns:w="{name}"><w:footnoteReference w:id="1"/></w:r>')
    document.paragraphs[1]._p.append(mark)
    document.save(str(file))


def write_pptx(planted: Planted, file: Path) -> None:
    """Write two slides: heading and paragraphs, with the footnote in the notes; the columns and the table."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    slides.core_properties.title = planted.title
    first = slides.slides.add_slide(slides.slide_layouts[1])
    first.shapes.title.text = planted.heading
    first.placeholders[1].text = "\n".join(planted.paragraphs)
    first.notes_slide.notes_text_frame.text = planted.footnote
    second = slides.slides.add_slide(slides.slide_layouts[6])
    for text, left in zip(planted.columns, (0.5, 5), strict=True):
        box = second.shapes.add_textbox(Inches(left), Inches(0.3), Inches(4), Inches(3))
        box.text_frame.text = text
    size = len(planted.table), len(planted.table[0])
    table = second.shapes.add_table(*size, Inches(1), Inches(4), Inches(8), Inches(2)).table
    for number, row in enumerate(planted.table):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    slides.save(str(file))


def write_xlsx(planted: Planted, file: Path) -> None:
    """Write a sheet with the table, with the heading as its first row, and a sheet with the paragraphs by row."""
    from openpyxl import Workbook

    book = Workbook()
    book.properties.title = planted.title
    sheet = book.active
    for row in planted.table:
        sheet.append(list(row))
    texts = book.create_sheet("Text")
    for text in (planted.heading, *planted.paragraphs, *planted.columns):
        texts.append([text])
    book.save(file)


def write_html(planted: Planted, file: Path) -> None:
    """Write a page with all parts."""
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in planted.table)
    paragraphs = "".join(f"<p>{text}</p>" for text in planted.paragraphs)
    columns = "".join(f"<div>{text}</div>" for text in planted.columns)
    file.write_text(
        f"<html><head><meta charset='utf-8'><title>{planted.title}</title></head><body><header>{planted.header}"
        f"</header><h1>{planted.heading}</h1>{paragraphs}<table>{rows}</table>{columns}<footer>{planted.footnote}"
        "</footer></body></html>",
        encoding="utf-8",
    )


def write_unruled_pdf(planted: Planted, file: Path) -> None:
    """Write a PDF whose table has no rules."""
    write_pdf(planted, file, rules=False)


WRITERS: Mapping[str, Callable[[Planted, Path], None]] = {
    "PDF": write_pdf,
    "PDF, no rules": write_unruled_pdf,
    "DOCX": write_docx,
    "PPTX": write_pptx,
    "XLSX": write_xlsx,
    "HTML": write_html,
}
SUFFIXES = {"PDF": ".pdf", "PDF, no rules": ".pdf", "DOCX": ".docx", "PPTX": ".pptx", "XLSX": ".xlsx", "HTML": ".html"}
LACKS: Mapping[str, frozenset[str]] = {
    "PPTX": frozenset({"header"}),
    "XLSX": frozenset({"header", "footnote"}),
}
"""Parts that a format does not have."""
