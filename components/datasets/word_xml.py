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


def unwrap(root: "_Element") -> None:
    """Put the text of nested elements in their place, in order, and remove deletions that are tracked.

    An equation becomes a run with the text of its parts. Of a phonetic guide the characters stay, not their sounds.
    """
    for deleted in list(root.iter(*_DELETED)):
        row = _deleted_row(deleted)
        _remove(deleted if row is None else row)
    for wrapper in list(root.iter(*_AROUND_TEXT)):
        content = wrapper.find(f"{WORD}sdtContent") if wrapper.tag == f"{WORD}sdt" else wrapper
        _replace(wrapper, [] if content is None else list(content))
    for equation in list(root.iter(_EQUATION)):
        run = equation.makeelement(f"{WORD}r")
        run.append(_text_element(run, "".join(part.text or "" for part in equation.iter(f"{_MATH}t", f"{WORD}t"))))
        _replace(equation, [run])
    for guide in list(root.iter(_PHONETIC_GUIDE)):
        _replace(guide, list(_base_texts(guide)))


def _deleted_row(deleted: "_Element") -> "_Element | None":
    """Return the row of a table that a mark among its properties deletes."""
    properties = deleted.getparent()
    return properties.getparent() if properties is not None and properties.tag == f"{WORD}trPr" else None


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
