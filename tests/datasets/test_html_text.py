"""The visible text of a page: blocks are separated, words are whole, and no characters are guessed."""

import pytest

from components.datasets.html_text import read_html
from components.errors import DataError


def text_of(body: str) -> str:
    return read_html(body.encode(), "a.html").text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mil<i>li</i>on and <a href='x'>a link</a>, 中国<b>银行</b>业", "million and a link, 中国银行业"),
        ("<p>one\n  sentence\tthat goes on</p>", "one sentence that goes on"),
        ("<h1>Head</h1>between<p>one</p><p>two</p>", "Head\nbetween\none\ntwo"),
        ("<ul><li>one<li>two<ul><li>deep</li></ul></ul>", "one\ntwo\ndeep"),
        ("<div>a<p>b</p>c</div>", "a\nb\nc"),
        ("<table><tr><th>Line<td>km</tr><tr><td><b>B</b></td><td>12</td></tr></table>", "Line km\nB 12"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<pre>a\nb</pre>", "a\nb"),
        ("twelve&nbsp;years &lt;now&gt;", "twelve years <now>"),
        ("seen<!-- not --><script>x</script><style>p {}</style><noscript>y</noscript>", "seen"),
        ("", ""),
    ],
)
def test_html_page_text_is_read(body: str, expected: str) -> None:
    assert text_of(f"<html><body>{body}</body></html>") == expected


def test_html_page_title_is_read() -> None:
    page = read_html(b"<html><head><title> A\n page </title></head><body>text</body></html>", "a.html")
    assert page == ("A page", "text")
    assert read_html(b"<p>text", "a.html").title == ""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<p>café".encode(), "café"),
        ("\ufeff<p>café".encode(), "café"),
        ("<p>café".encode("utf-16"), "café"),
        (b"<meta charset='iso-8859-1'><p>caf\xe9 \x93so\x94", "café “so”"),
        (b"<meta http-equiv='Content-Type' content='text/html; charset=windows-1252'><p>caf\xe9", "café"),
        ("<meta charset='gb2312'><p>中国银行業".encode("gb18030"), "中国银行業"),
    ],
)
def test_html_encoding_is_the_declared_one(content: bytes, expected: str) -> None:
    assert read_html(content, "a.html").text == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"caf\xe9",
            r"a\.html: byte 0xe9 at byte offset 3 is not utf-8, and it declares no other, expected",
        ),
        (
            b"<meta charset='utf-8'>\xa9 caf\xc3\xa9",
            "0xa9 at byte offset 22 is not utf-8, which it declares as utf-8",
        ),
        (b"<meta charset='klingon'>x", r"a\.html: declares an unknown encoding, 'klingon'"),
    ],
)
def test_html_in_an_undeclared_encoding_is_an_error(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_html(content, "a.html")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<div>" * 5_000 + "x", "x"),
        ("<table>" + "<td>x" * 5_000, " ".join("x" * 5_000)),
        ("seen" + "<!--" * 20_000, "seen"),
        ("seen<!-- a --> too<!-- open", "seen too"),
        ("<pre>a\nb<pre>c\nd</pre>e\nf</pre>g\nh", "a\nb\nc\nd\ne\nf\ng h"),
    ],
    ids=["deep", "unclosed cells", "unclosed comments", "an unclosed comment", "nested pre"],
)
def test_unclosed_html_markup_is_read(markup: str, expected: str) -> None:
    assert text_of(markup) == expected


@pytest.mark.parametrize(
    ("markup", "message"),
    [
        (
            b"<![foo[x",
            r"a\.html: cannot be read as HTML \(AssertionError: unknown status keyword 'foo'.*\)\. Repair the page",
        ),
        (b"<meta charset='undefined'>x", r"a\.html: declares an unknown encoding, 'undefined'"),
        (b"<meta charset='rot13'>x", r"a\.html: declares an unknown encoding, 'rot13'"),
    ],
)
def test_unreadable_html_page_is_an_error(markup: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_html(markup, "a.html")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (
            "<p>a</p><table><caption>of <b>parts</b></caption><tr><th>Part<th>Weight</tr>"
            "<tr><td><p>Arch</p><p>of steel</p></td><td>39 | 40<br>t</td></tr></table><p>b</p>",
            "a\nof parts\n| Part | Weight |\n| --- | --- |\n| Arch of steel | 39 \\| 40 t |\nb",
        ),
        ("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", "a\nb"),
        (
            "<table><tr><td>x<table><tr><td>1<td>2</tr></table></td><td>y</td></tr></table>",
            "x\n| 1 | 2 |\n| --- | --- |\ny",
        ),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "1 2\n3 4"),
        ("<table><tr></tr><tr>a<td>1</td>b<td>2</td></tr><td>c</table>d", "ab\n| 1 | 2 |\n| --- | --- |\n| c |\nd"),
        ("<table><td>a<tr><td>1<td>2</tr>b</table>", "| a | 1 | 2 |\n| --- | --- | --- |\n| b |"),
        ("<table><tr><td>1<td>2" * 2_000 + "</tr>", "1 2\n" * 1_999 + "| 1 | 2 |\n| --- | --- |"),
    ],
    ids=[
        "a table",
        "one column",
        "a layout",
        "rows that are not closed",
        "text outside cells",
        "a row in a cell",
        "deep",
    ],
)
def test_html_tables_become_markdown_with_keep_structure(markup: str, expected: str) -> None:
    assert read_html(markup.encode(), "a.html", keep_structure=True).text == expected


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a</p><script>var r = /<!--|x/;</script><p>b</p>", "a\nb"),
        ("<p>a</p><style><!-- p {} </style><p>b</p>", "a\nb"),
        ('<p title="<!-- x">a</p><p>b</p>', "a\nb"),
        ("<svg><style/></svg><p>b</p><!-- hidden --><p>a</p>", "b\na"),
        ("<style-guide>b</style-guide><!-- hidden --><p>a</p>", "b\na"),
        ("<p onclick=\"f('<script>')\">b</p><!-- hidden --><p>a</p>", "b\na"),
        ("<p>b</p><!--><p>after</p>", "b\n<!-->\nafter"),
        ("<p>a</p><!-- x <p>hidden</p>", "a"),
        ("<!-- <script> --><p>a</p><script><!--\nx\n--></script><p>b</p>", "a\nb"),
        ('<p>5" <!-- hidden --> pipe</p>', '5"  pipe'),
    ],
)
def test_only_a_real_comment_hides_text(markup: str, text: str) -> None:
    assert read_html(markup.encode(), "page").text == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("10<sup>6</sup> and 2<sup>-3</sup>, 1<sup>st</sup>, CO<sub>2</sub>", "10^6 and 2^-3, 1st, CO2"),
        ("M\u00fcll&shy;geb\u00fchren, zero\u200bwidth", "M\u00fcllgeb\u00fchren, zerowidth"),
    ],
)
def test_raised_numbers_and_invisible_characters_leave_words_whole(markup: str, text: str) -> None:
    assert read_html(f"<meta charset=utf-8><p>{markup}</p>".encode(), "page").text == text


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "<tr><th>Town</th><th colspan=2>Year</th></tr><tr><td rowspan=2>Selby</td><td>1</td><td>2</td></tr>"
            "<tr><td>3</td><td>4</td></tr>",
            ["| Town | Year | Year |", "| --- | --- | --- |", "| Selby | 1 | 2 |", "| Selby | 3 | 4 |"],
        ),
        (
            "<tr><td rowspan=2>a</td><td>b</td><td rowspan=3>c</td></tr><tr><td>d</td></tr>"
            "<tr><td>e</td><td>f</td></tr>",
            ["| a | b | c |", "| --- | --- | --- |", "| a | d | c |", "| e | f | c |"],
        ),
        (
            "<tr><td rowspan=2>a</td><td rowspan=2>b</td></tr><tr></tr><tr><td>c</td><td>d</td></tr>",
            ["| a | b |", "| --- | --- |", "| c | d |"],
        ),
        (
            "<thead><tr><th rowspan=2>A</th><th>B</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody>",
            ["| A | B |", "| --- | --- |", "| 1 | 2 |"],
        ),
        (
            "<tr><td colspan=0>a</td><td colspan=x>b</td><td rowspan=99999>c</td></tr>",
            ["| a | b | c |", "| --- | --- | --- |"],
        ),
    ],
)
def test_cells_that_span_columns_and_rows_are_repeated(rows: str, expected: list[str]) -> None:
    page = read_html(f"<table>{rows}</table>".encode(), "page", keep_structure=True)
    assert page.text.splitlines() == expected


def test_page_of_spans_has_a_bounded_text() -> None:
    row = f"<tr>{'<td colspan=100 rowspan=100>' + 'x' * 200 + '</td>'}</tr>"
    table = f"<table>{row.replace('</tr>', '<td>y</td></tr>')}{'<tr><td>z</td></tr>' * 99}</table>"
    page = read_html((table * 20).encode(), "page", keep_structure=True)
    assert len(page.text) < 1_100_000
