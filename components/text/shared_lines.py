"""Lines that pages of a document, or documents of a folder, share at their edges: running heads, page numbers, menus,
notices.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_N_PAGE_LINES, _MIN_PAGES, _MIN_SHARE_OF_PAGES = 3, 3, 1 / 3
_N_DOCUMENT_LINES, _MIN_DOCUMENTS, _MIN_SHARE_OF_DOCUMENTS = 12, 5, 1 / 2
_MAX_HEAD_CHARACTERS = 200
_NUMBER = re.compile(r"\d{1,6}")


def strip_running_heads(text: str) -> str:
    r"""Return a text whose pages end with "\f" without its running heads and feet.

    They are lines at the top or bottom of at least a third of its pages, and of at least 3 pages. Only lines of up to
    200 characters among the first and last 3 of a page count. Lines are the same if they are equal, or if one number in
    them grows with the number of the page.
    """
    pages = [page.split("\n") for page in text.split("\f")]
    if len(pages) < _MIN_PAGES:
        return text
    fewest = max(_MIN_PAGES, _MIN_SHARE_OF_PAGES * len(pages))
    for is_bottom in (False, True):
        forms = [
            [set(_forms(line, number)) for line in _edge(page, _N_PAGE_LINES, is_bottom)]
            for number, page in enumerate(pages)
        ]
        n_pages = Counter(form for page in forms for form in set().union(*page))
        pages = [
            _strip_shared(page, [any(n_pages[form] >= fewest for form in line) for line in page_forms], is_bottom)
            for page, page_forms in zip(pages, forms, strict=True)
        ]
    return "\f".join("\n".join(page) for page in pages)


def strip_shared_edges(texts: Sequence[str]) -> list[str]:
    """Return texts of one folder without the lines that they share at their beginning or end.

    These lines occur among the first, or last, 12 lines of at least half of the texts, and of at least 5. A text that
    would lose all its lines stays unchanged.
    """
    documents = [text.split("\n") for text in texts]
    if len(documents) < _MIN_DOCUMENTS:
        return list(texts)
    fewest = max(_MIN_DOCUMENTS, _MIN_SHARE_OF_DOCUMENTS * len(documents))
    for is_bottom in (False, True):
        edges = [_edge(lines, _N_DOCUMENT_LINES, is_bottom) for lines in documents]
        n_documents = Counter(line for edge in edges for line in set(edge))
        documents = [
            _strip_shared(lines, [n_documents[line] >= fewest for line in edge], is_bottom)
            for lines, edge in zip(documents, edges, strict=True)
        ]
    cleaned = ("\n".join(lines) for lines in documents)
    return [new if new.strip() else old for old, new in zip(texts, cleaned, strict=True)]


def _forms(line: str, page: int) -> Iterator[str]:
    """Yield the forms of a line that are equal on every page: the line itself, and with each number minus the page
    number.

    A line that is too long for a running head has no form.
    """
    if len(line) > _MAX_HEAD_CHARACTERS:
        return
    yield line
    for number in _NUMBER.finditer(line):
        yield f"{line[: number.start()]}\0{int(number[0]) - page}\0{line[number.end() :]}"


def _edge(lines: Sequence[str], n: int, is_bottom: bool) -> list[str]:
    """Return the first, or last, `n` lines that are not blank, from the edge inwards."""
    edge: list[str] = []
    for line in reversed(lines) if is_bottom else lines:
        if len(edge) == n:
            break
        if line.strip():
            edge.append(line.strip())
    return edge


def _strip_shared(lines: list[str], is_shared: Sequence[bool], is_bottom: bool) -> list[str]:
    """Return the lines without the shared ones at the edge. `is_shared` covers the lines that are not blank."""
    n_shared = next((index for index, shared in enumerate(is_shared) if not shared), len(is_shared))
    if not n_shared:
        return lines
    inwards = lines[::-1] if is_bottom else lines
    indices = [index for index, line in enumerate(inwards) if line.strip()]
    remaining = inwards[indices[n_shared - 1] + 1 :]
    return remaining[::-1] if is_bottom else remaining
