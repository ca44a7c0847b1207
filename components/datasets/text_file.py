"""Text files: a document each, or one per line; of Markdown, what stands above it as YAML."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from components.datasets.file_content import FileContent, FileEntry, ReadingOptions
from components.datasets.reading import read_lines, require_whole_size

_EXPECTED = "a text file in UTF-8"
_FENCE = "---"
_MOST_LINES = 500
_CLOSINGS = (_FENCE, "...")


class FrontMatter(NamedTuple):
    """`facts` by name as they are written, lists of them with commas between; `n_lines` with both fences."""

    facts: Mapping[str, str]
    n_lines: int


def read_text(file: Path, options: ReadingOptions) -> FileContent:
    """The whole text, or one document per line that is not blank: with six digits, ids sort as lines do."""
    if not options.one_per_line:
        require_whole_size(file, _EXPECTED)
    lines = [line for _, line in read_lines(file, _EXPECTED)]
    if not options.one_per_line:
        return FileContent([FileEntry("", file.stem, "\n".join(lines))])
    entries = [FileEntry(f":{number:06d}", "", line) for number, line in enumerate(lines, start=1) if line.strip()]
    return FileContent(entries, {"n_blank_lines": len(lines) - len(entries)})


def read_markdown(file: Path, options: ReadingOptions) -> FileContent:
    """The text below the front matter, if there is any: its first character is the document's first. `title` becomes
    the title, all other facts metadata.
    """
    require_whole_size(file, _EXPECTED)
    lines = [line for _, line in read_lines(file, _EXPECTED)]
    matter = front_matter(lines)
    facts = {name: fact for name, fact in matter.facts.items() if name != "title"}
    text = "\n".join(lines[matter.n_lines :])
    if matter.n_lines:
        text = text.lstrip("\n")
    return FileContent([FileEntry("", matter.facts.get("title") or file.stem, text, facts)])


def front_matter(lines: list[str]) -> FrontMatter:
    """What stands between a first line "---" and the next one (among 500 lines) as YAML. Anything but a mapping is no
    front matter, but text below a rule; what lies deeper than a list of plain values is passed over.
    """
    nothing = FrontMatter({}, 0)
    if not lines or lines[0].rstrip() != _FENCE:
        return nothing
    end = next((place for place, line in enumerate(lines[1:_MOST_LINES], start=1) if line.rstrip() in _CLOSINGS), 0)
    try:
        # The base loader makes plain texts, lists and mappings: a date stays as it is written.
        value = yaml.BaseLoader("\n".join(lines[1:end])).get_single_data() if end else None
    except (yaml.YAMLError, RecursionError):
        return nothing
    if not isinstance(value, dict):
        return nothing
    return FrontMatter({str(name): fact for name, each in value.items() if (fact := _as_text(each))}, end + 1)


def _as_text(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(each.strip() for each in values if isinstance(each, str) and each.strip())
