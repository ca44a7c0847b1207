"""The program of a process that reads PDF files with PDFium, whose native code can end or hang its process.

It is started by its path, and imports no other module of this project. Standard input brings a line of JSON for each
file, and ends with the process that reads the answers: {"file", "cpu_s", "memory_bytes"}. The answer is a line {"text"}
for the title and for each page, and {"end"}; or {"error", "kind"} instead of the rest, see `_KINDS`.
"""

import json
import math
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

_Order = dict[str, Any]
_PAGES_IN_USE = Path("/proc/self/statm")
_KINDS = {MemoryError: "memory", ImportError: "import", OSError: "system", Exception: "file"}
"""The kinds of errors, the first that fits."""


def main() -> None:
    """Answer orders until standard input ends. Arguments: the folders of pypdfium2 and its parts."""
    sys.path += sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # the prints of native code must not reach the answers
    orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
    threading.Thread(target=_take_orders, args=(orders,), daemon=True).start()
    _limit("RLIMIT_CORE", 0)
    while True:
        order = orders.get()
        try:
            _read(order, answers)
            _answer(answers, end=True)
        except Exception as error:  # noqa: BLE001 - the other process raises it
            kind = next(kind for error_class, kind in _KINDS.items() if isinstance(error, error_class))
            _answer(answers, error=str(error) or type(error).__name__, kind=kind)


def _take_orders(orders: "queue.SimpleQueue[_Order]") -> None:
    """Queue the orders. End this process with standard input, or at a line that is not an order, even while PDFium
    reads a page.
    """
    exit_code = 1
    try:
        for line in sys.stdin.buffer:
            orders.put(json.loads(line))
        exit_code = 0
    finally:
        os._exit(exit_code)


def _read(order: _Order, answers: TextIO) -> None:
    from pypdfium2 import PdfDocument

    _limit_next(order)
    with open(order["file"], "rb"):  # noqa: PTH123 - PDFium gives no reason why it cannot open a file
        pass
    document = PdfDocument(order["file"])
    try:
        _answer(answers, text=document.get_metadata_value("Title"))
        for number in range(len(document)):
            _limit_next(order)
            page = document[number]
            text = _visible_text(page)
            page.close()
            _answer(answers, text=text)
    finally:
        document.close()


def _visible_text(page: Any) -> str:
    """Return the text within the crop box of a page.

    `get_text_bounded` joins and loses lines of turned text, and `get_text_range` has text outside of the page too.
    """
    texts = page.get_textpage()
    bounded, whole = texts.get_text_bounded(), texts.get_text_range()
    if _n_signs(bounded) == _n_signs(whole):
        return str(whole)
    left, bottom, right, top = page.get_cropbox()
    pieces, first, is_visible = [], 0, True
    for number in range(texts.count_chars()):
        x0, y0, x1, y1 = texts.get_charbox(number)
        was_visible, middle_x, middle_y = is_visible, (x0 + x1) / 2, (y0 + y1) / 2
        if (x0, y0) != (x1, y1):  # spaces and ends of lines that PDFium adds have no box
            is_visible = left <= middle_x <= right and bottom <= middle_y <= top
        if is_visible != was_visible:
            pieces += [texts.get_text_range(first, number - first)] if was_visible and number > first else []
            first = number
    n_left = texts.count_chars() - first
    return "".join([*pieces, texts.get_text_range(first, n_left) if is_visible and n_left else ""])


def _n_signs(text: str) -> int:
    return sum(not character.isspace() for character in text)


def _answer(answers: TextIO, **fields: object) -> None:
    answers.write(json.dumps(fields) + "\n")
    answers.flush()


def _limit_next(order: _Order) -> None:
    """Limit the next page. The system kills the process beyond the CPU time, and refuses memory beyond the limit."""
    _limit("RLIMIT_CPU", math.ceil(time.process_time() + order["cpu_s"]))
    if _PAGES_IN_USE.exists():
        _limit(
            "RLIMIT_AS", int(_PAGES_IN_USE.read_text().split()[0]) * os.sysconf("SC_PAGESIZE") + order["memory_bytes"]
        )


def _limit(name: str, limit: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


if __name__ == "__main__":
    main()
