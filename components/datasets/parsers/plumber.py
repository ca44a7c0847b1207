"""PDF by pdfplumber: text by lines, and ruled tables in Markdown at their places."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from components.protocols.parsing import ParsedFile
from components.text.markdown_tables import markdown_table
from components.text.radicals import restore_ideographs

if TYPE_CHECKING:
    from pdfplumber.page import Page
    from pdfplumber.pdf import PDF

_Box = tuple[float, float, float, float]
_Item = Mapping[str, Any]
"""A character, line or rectangle of a page, as pdfplumber describes it."""


class _FoundTable(NamedTuple):
    box: _Box
    text: str


@dataclass(frozen=True)
class Plumber:
    """Reads the text of each page of a PDF. Lines of sideways text, as in turned tables, follow the lines above them.

    - `tables`: tables with rules become Markdown. A frame with one row or one column remains text;
    - `text_flow`: lines in the order of the file, which follows columns in most files; else from the top of the page to
      its bottom, across columns.
    """

    tables: bool = True
    text_flow: bool = True

    version: ClassVar[int] = 2
    suffixes: ClassVar[tuple[str, ...]] = (".pdf",)
    packages: ClassVar[tuple[str, ...]] = ("pdfplumber",)
    extra: ClassVar[str] = "pdf"

    @property
    def parts(self) -> "tuple[Plumber]":
        """The parser itself."""
        return (self,)

    def parse(self, file: Path) -> ParsedFile:
        """Return the text of the pages."""
        import pdfplumber

        document = pdfplumber.open(file)
        return ParsedFile(_as_text((document.metadata or {}).get("Title")), self._pages(document))

    def _pages(self, document: "PDF") -> Iterator[str]:
        with document:
            for page in document.pages:
                yield restore_ideographs(self._text_of(page))
                page.close()

    def _text_of(self, page: "Page") -> str:
        tables = _tables(page) if self.tables else []
        rest = page.filter(lambda item: not any(_is_inside(item, table.box) for table in tables)) if tables else page
        upright = rest.filter(lambda item: item.get("upright", True))
        lines = upright.extract_text_lines(use_text_flow=self.text_flow)
        number = {id(character): place for place, character in enumerate(page.chars)}

        def place(characters: Sequence[_Item]) -> float:
            return float(number[id(characters[0])] if self.text_flow else characters[0]["top"])

        blocks = [(place(line["chars"]), line["text"]) for line in lines]
        for table in tables:
            inside = [character for character in page.chars if _is_inside(character, table.box)]
            blocks.append((place(inside), f"\n{table.text}\n"))
        for characters in _by_direction(rest):
            turned_lines = _sideways_lines(characters, rest, text_flow=self.text_flow)
            blocks.append((place(characters), "\n".join(turned_lines)))
        return "\n".join(text for _, text in sorted(blocks, key=lambda block: block[0]))


def _by_direction(page: "Page") -> list[list[_Item]]:
    """Return the sideways characters of a page, those that read upwards and those that read downwards."""
    sideways: list[_Item] = [character for character in page.chars if not character["upright"]]
    upwards = [character for character in sideways if character["matrix"][1] > 0]
    downwards = [character for character in sideways if character["matrix"][1] <= 0]
    return [characters for characters in (upwards, downwards) if characters]


def _sideways_lines(characters: Sequence[_Item], page: "Page", *, text_flow: bool) -> list[str]:
    """Return the lines of characters of one direction, as if their page were turned."""
    from pdfplumber.utils.text import chars_to_textmap

    is_upwards = characters[0]["matrix"][1] > 0
    turned = []
    for each in characters:
        left, right, top, bottom = each["x0"], each["x1"], each["top"], each["bottom"]
        if is_upwards:
            box = {"x0": page.height - bottom, "x1": page.height - top, "top": left, "bottom": right}
        else:
            box = {"x0": top, "x1": bottom, "top": page.width - right, "bottom": page.width - left}
        turned.append({**each, **box, "doctop": box["top"], "upright": True})
    lines = chars_to_textmap(turned, use_text_flow=text_flow).extract_text_lines(return_chars=False)
    return [line["text"] for line in lines]


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tables(page: "Page") -> list[_FoundTable]:
    """Return the tables of a page with text, two rows and two columns at least."""
    upwards = [each for each in page.chars if not each["upright"] and each["matrix"][1] > 0]
    boxed_tables = [
        (table.bbox, table.extract(**_extraction_options(upwards, table.bbox))) for table in page.find_tables()
    ]
    return [
        _FoundTable(box, text)
        for box, rows in boxed_tables
        if len(rows) > 1 and max(map(len, rows)) > 1 and (text := markdown_table(rows))
    ]


def _extraction_options(upwards: Sequence[_Item], box: _Box) -> dict[str, str]:
    """Return pdfplumber's options for sideways text in a box. By default it reads downwards, and would mirror
    `upwards`.
    """
    is_upwards = any(_is_inside(each, box) for each in upwards)
    return {"char_dir_rotated": "btt", "line_dir_rotated": "ltr"} if is_upwards else {}


def _is_inside(item: _Item, box: _Box) -> bool:
    """Return True for an item whose middle is in the box."""
    left, top, right, bottom = box
    middle = (item["x0"] + item["x1"]) / 2, (item["top"] + item["bottom"]) / 2
    return bool(left <= middle[0] <= right and top <= middle[1] <= bottom)
