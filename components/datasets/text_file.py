"""Text files with one document per file or per line, and the YAML front matter of Markdown."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from components.datasets.data_files import read_lines, require_whole_size
from components.datasets.file_content import FileContent, FileEntry, ReadingOptions

_EXPECTED = "a text file in UTF-8"
_FENCE = "---"
_MAX_LINES = 500
_CLOSINGS = (_FENCE, "...")


class FrontMatter(NamedTuple):
    """Front matter: its `facts` by name, as strings, and its number of lines with both fences.

    Lists of strings are joined by commas. `is_invalid` means that the lines between the fences are not YAML.
    """

    facts: Mapping[str, str]
    n_lines: int
    is_invalid: bool = False


def read_text(file: Path, options: ReadingOptions) -> FileContent:
    """Return the whole text, or one document per line that is not blank.

    Numbers of lines have six digits, so that ids sort like lines.
    """
    if not options.one_per_line:
        require_whole_size(file, _EXPECTED)
    lines = [line for _, line in read_lines(file, _EXPECTED)]
    if not options.one_per_line:
        return FileContent([FileEntry("", file.stem, "\n".join(lines))])
    entries = [FileEntry(f":{number:06d}", "", line) for number, line in enumerate(lines, start=1) if line.strip()]
    return FileContent(entries, {"n_blank_lines": len(lines) - len(entries)})


def read_markdown(file: Path, options: ReadingOptions) -> FileContent:
    """Return the text below the front matter. Its fact `title` becomes the title, its other facts metadata.

    Positions in the document count from the first character of this text.
    """
    require_whole_size(file, _EXPECTED)
    lines = [line for _, line in read_lines(file, _EXPECTED)]
    matter = front_matter(lines)
    facts = {name: fact for name, fact in matter.facts.items() if name != "title"}
    text = "\n".join(lines[matter.n_lines :])
    if matter.n_lines:
        text = text.lstrip("\n")
    counts = {"n_files_with_invalid_front_matter": 1} if matter.is_invalid else {}
    return FileContent([FileEntry("", matter.facts.get("title") or file.stem, text, facts)], counts)


def front_matter(lines: list[str]) -> FrontMatter:
    """Return the YAML between a first line "---" and the next "---" or "..." within 500 lines.

    Anything but a mapping is ordinary text below a rule, and so are lines that are not YAML. Nested values are skipped,
    except lists of plain values.
    """
    nothing = FrontMatter({}, 0)
    if not lines or lines[0].rstrip() != _FENCE:
        return nothing
    end = next((number for number, line in enumerate(lines[1:_MAX_LINES], start=1) if line.rstrip() in _CLOSINGS), 0)
    try:
        # The base loader makes strings, lists and mappings only: a date stays as it is written.
        value = yaml.BaseLoader("\n".join(lines[1:end])).get_single_data() if end else None
    except (yaml.YAMLError, RecursionError):
        return FrontMatter({}, 0, is_invalid=True)
    if not isinstance(value, dict):
        return nothing
    return FrontMatter({str(name): fact for name, entry in value.items() if (fact := _as_text(entry))}, end + 1)


def _as_text(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(item.strip() for item in values if isinstance(item, str) and item.strip())
