"""Tables of HTML, read from one tag to the next, as those of Markdown."""


class MarkdownRows:
    """Collects the cells of each row of one table. The first row with cells is the head, as Markdown wants one."""

    def __init__(self) -> None:
        self._cells: list[list[str]] = []
        self._n_open = 0
        self._has_head = False

    @property
    def is_in_cell(self) -> bool:
        """Whether what comes next belongs to a cell."""
        return self._n_open > 0

    def add(self, text: str) -> None:
        """To the last cell."""
        if not self._cells:  # its row is over, since a row was begun in it
            self._cells.append([])
        self._cells[-1].append(text)

    def passed(self, tag: str, has_ended: bool) -> str:
        """What stands in the place of the beginning or the end of a row (tr) or a cell."""
        if tag == "tr":
            return self.ended() if has_ended else "\n"
        self._n_open += -1 if has_ended else 1
        if not has_ended:
            self._cells.append([])
        return ""

    def ended(self) -> str:
        """The row that ends here, a line, and a second one below the head; "" where there are no cells."""
        written = [" ".join("".join(cell).split()).replace("|", r"\|") for cell in self._cells]
        lines = [_line(written)] if written else []
        if written and not self._has_head:
            lines.append(_line(["---"] * len(written)))
            self._has_head = True
        self._cells = []
        return "\n".join(["", *lines, ""]) if lines else ""


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
