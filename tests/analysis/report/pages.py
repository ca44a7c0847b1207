"""Helpers of tests that read the page."""

from collections.abc import Iterator
from html.parser import HTMLParser

from analysis.report import report_markdown as markdown
from analysis.report import report_page as page
from analysis.report import report_record
from analysis.report.report_input import open_source
from analysis.report.report_record import Report

_EMPTY = {"meta", "link", "br", "wbr", "input", "circle", "line", "rect", "path"}


class Page(HTMLParser):
    """Checks that every tag is closed in its turn; collects texts, attributes and ids."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["script"], ["style"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def values_of(self, name: str) -> Iterator[str]:
        return (value for _, attribute, value in self.attributes if attribute == name)


def report_on(folder: object, metric: str = "") -> Report:
    return report_record.gather(open_source(str(folder), metric))


def rendered(report: Report) -> tuple[Page, str, str]:
    """Return the parsed page, the Markdown and the JSON."""
    return Page(page.render(report)), markdown.render(report), report_record.as_json(report)
