"""Turned pages and sideways text of PDF files: every line is one line of the text, and none is lost."""

from pathlib import Path

import pytest

from components.datasets.parsers.pdfium import Pdfium
from components.datasets.parsers.plumber import Plumber

LINES = [
    "Line 0 of town",
    "Line 1 names the harbour",
    "opened 1930",
    "the construc-",
    "tion of it",
    "a long way",
    "down",
]
PLAIN, UPWARDS, DOWNWARDS = "1 0 0 1 60 700", "0 1 -1 0 300 100", "0 -1 1 0 300 700"


def pdf(rotate: int, matrix: str, box: str = "0 0 595 842") -> bytes:
    """Return a page that is shown turned by `rotate` degrees, with lines in the directions of a matrix."""
    shown = " ".join(f"({line}) Tj T*" for line in LINES)
    content = f"q {matrix} cm BT /F1 12 Tf 14 TL {shown} ET Q"
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /CropBox [{box}] /Rotate {rotate} /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        font,
    ]
    text, offsets = "%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        offsets.append(len(text))
        text += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return f"{text}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF".encode()


@pytest.mark.parametrize("parser", [Plumber(), Plumber(text_flow=False), Pdfium()], ids=["flow", "top down", "pdfium"])
@pytest.mark.parametrize(
    ("rotate", "matrix"),
    [(0, PLAIN), (90, UPWARDS), (270, DOWNWARDS), (180, "-1 0 0 -1 500 300"), (0, UPWARDS), (0, DOWNWARDS)],
)
def test_turned_text_has_the_lines_of_upright_text(
    rotate: int, matrix: str, parser: Plumber | Pdfium, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf(rotate, matrix))
    (page,) = parser.parse(tmp_path / "a.pdf").pages
    lines = page.splitlines()
    assert sorted(lines) == sorted(LINES)
    if not (isinstance(parser, Pdfium) and (rotate, matrix) == (0, DOWNWARDS)):  # PDFium reads columns from the left
        assert lines == LINES


@pytest.mark.parametrize(("rotate", "matrix"), [(0, PLAIN), (90, UPWARDS), (0, UPWARDS)])
def test_pdfium_reads_no_text_outside_the_crop_box(rotate: int, matrix: str, tmp_path: Path) -> None:
    """The box holds the first lines only, whatever their direction."""
    box = "0 670 595 842" if matrix == PLAIN else "0 0 330 842"
    (tmp_path / "a.pdf").write_bytes(pdf(rotate, matrix, box))
    (page,) = Pdfium().parse(tmp_path / "a.pdf").pages
    assert page.splitlines() == LINES[:3]


def test_cells_of_a_turned_table_are_not_mirrored(tmp_path: Path) -> None:
    rules = " ".join(f"{x} 500 m {x} 620 l S" for x in (100, 160, 220)) + " "
    rules += " ".join(f"100 {y} m 220 {y} l S" for y in (500, 560, 620))
    cells = {(130, 505): "Year", (190, 505): "2020", (130, 565): "Price", (190, 565): "25"}
    texts = " ".join(f"BT /F1 12 Tf 0 1 -1 0 {x} {y} Tm ({text}) Tj ET" for (x, y), text in cells.items())
    content = pdf(0, PLAIN).replace(b"BT /F1 12 Tf 14 TL", f"{rules} {texts} BT /F1 12 Tf 14 TL".encode())
    content = content.replace(PLAIN.encode(), b"1 0 0 1 0 0")
    (tmp_path / "a.pdf").write_bytes(content)
    (page,) = Plumber().parse(tmp_path / "a.pdf").pages
    assert "| Price | 25 |" in page
    assert "| Year | 2020 |" in page
