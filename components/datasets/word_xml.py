"""The XML of Word for readers that see only the plain children of an element, as python-docx does.

Word nests text in other elements: content controls, tracked insertions, fields, tags of other programs, equations and
phonetic guides.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"

_AROUND_TEXT = (
    *(f"{WORD}{name}" for name in ("bdo", "customXml", "dir", "fldSimple", "ins", "moveTo", "sdt", "smartTag")),
    f"{_MATH}oMathPara",
)
_DELETED = (f"{WORD}del", f"{WORD}moveFrom")
_EQUATION, _PHONETIC_GUIDE = f"{_MATH}oMath", f"{WORD}ruby"
_SIGNS = {f"{_MATH}den": "/", f"{_MATH}sup": "^"}
"""Signs before a denominator and an exponent, which would otherwise continue the number before them."""
_TEXT_BOX = f"{WORD}txbxContent"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_VALUE, _RESTART = f"{WORD}val", "restart"


def unwrap(root: "_Element") -> None:
    """Replace nested elements by their text, in order, and remove tracked deletions.

    An equation becomes a run with the text of its parts. A phonetic guide keeps its characters without readings.
    The paragraphs of a text box follow the paragraph that holds the box.
    """
    deleted_rows = []
    for deleted in list(root.iter(*_DELETED)):
        row = _deleted_row(deleted)
        if row is None:
            _remove(deleted)
        else:
            deleted_rows.append(row)
    _move_text_boxes(root)
    for wrapper in list(root.iter(*_AROUND_TEXT)):
        content = wrapper.find(f"{WORD}sdtContent") if wrapper.tag == f"{WORD}sdt" else wrapper
        _replace(wrapper, [] if content is None else list(content))
    for row in deleted_rows:
        _continue_merges_below(row)
        _remove(row)
    for equation in list(root.iter(_EQUATION)):
        run = equation.makeelement(f"{WORD}r")
        run.append(_text_element(run, "".join(_equation_texts(equation))))
        _replace(equation, [run])
    for guide in list(root.iter(_PHONETIC_GUIDE)):
        _replace(guide, list(_base_texts(guide)))


def _move_text_boxes(root: "_Element") -> None:
    """Put the paragraphs and tables of text boxes after the paragraph that holds the box.

    Word writes a box several times, for newer and for older programs. Only the first copy stays.
    """
    for alternatives in list(root.iter(f"{_ALTERNATIVES}AlternateContent")):
        with_boxes = [each for each in alternatives if next(each.iter(_TEXT_BOX), None) is not None]
        for copy in with_boxes[1:]:
            _remove(copy)
    for box in reversed(list(root.iter(_TEXT_BOX))):
        paragraph = next(box.iterancestors(f"{WORD}p"), None)
        if paragraph is not None:
            for block in reversed(list(box)):
                paragraph.addnext(block)


def _deleted_row(deleted: "_Element") -> "_Element | None":
    """Return the row of a table that a mark among its properties deletes."""
    properties = deleted.getparent()
    return properties.getparent() if properties is not None and properties.tag == f"{WORD}trPr" else None


def _equation_texts(equation: "_Element") -> "Iterator[str]":
    for part in equation.iter(f"{_MATH}t", f"{WORD}t", *_SIGNS):
        if part.tag not in _SIGNS:
            yield part.text or ""
        elif any(text.text for text in part.iter(f"{_MATH}t")):
            yield _SIGNS[part.tag]


def _continue_merges_below(row: "_Element") -> None:
    """Let the row below start the vertical merges that this row starts."""
    below = next(row.itersiblings(f"{WORD}tr"), None)
    merges_below = {} if below is None else _merges(below)
    for column, merge in _merges(row).items():
        if merge.get(_VALUE) == _RESTART and column in merges_below:
            merges_below[column].set(_VALUE, _RESTART)


def _merges(row: "_Element") -> "dict[int, _Element]":
    """Return the marks of vertical merges in a row by the column of the grid in which their cells begin."""
    before = row.find(f"{WORD}trPr/{WORD}gridBefore")
    column = 0 if before is None else int(before.get(_VALUE, "0"))
    merges = {}
    for cell in row.iterchildren(f"{WORD}tc"):
        merge, span = (cell.find(f"{WORD}tcPr/{WORD}{name}") for name in ("vMerge", "gridSpan"))
        if merge is not None:
            merges[column] = merge
        column += 1 if span is None else int(span.get(_VALUE, "1"))
    return merges


def _base_texts(guide: "_Element") -> "Iterator[_Element]":
    return (text for base in guide.iter(f"{WORD}rubyBase") for text in base.iter(f"{WORD}t"))


def _text_element(parent: "_Element", text: str) -> "_Element":
    element = parent.makeelement(f"{WORD}t")
    element.text = text
    return element


def _replace(element: "_Element", by: "list[_Element]") -> None:
    for each in by:
        element.addprevious(each)
    _remove(element)


def _remove(element: "_Element") -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
