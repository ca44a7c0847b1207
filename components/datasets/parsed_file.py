"""Files that a component reads in place of the built-in readers."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from components.datasets.data_files import MAX_WHOLE_FILE_BYTES, require_whole_size
from components.datasets.file_content import PAGE_END, FileContent, FileEntry, ReadingOptions
from components.datasets.parsing_memory import limit_parsing_memory
from components.datasets.parsing_time import limit_parsing_time
from components.errors import DataError, MissingExtraError
from components.protocols.parsing import FileParser
from components.text.normalize import whole_characters

_PDF = ".pdf"
_EXPECTED = "a document that the parser reads"


def find_parser(suffix: str, options: ReadingOptions) -> FileParser | None:
    """Return the parser of files with an extension in lower case; None if a built-in reader reads them."""
    return next((part for part in options.parser.parts if suffix in part.suffixes), None)


def read_parsed(file: Path, options: ReadingOptions) -> FileContent:
    """Return the text of a file by its parser. Pages of PDF without text are counted.

    Raises DataError for a file that the parser cannot read, that takes more than a minute of CPU time or 8 GiB of
    memory for a page, or that is or contains more than 1 GiB. Raises MissingExtraError without the parser's packages.
    """
    parser = find_parser(file.suffix.lower(), options)
    assert parser is not None
    name = type(parser).__name__
    require_whole_size(file, _EXPECTED)
    try:
        _require_whole_content(file)
        with limit_parsing_time(str(file)), limit_parsing_memory(str(file)):
            parsed = parser.parse(file)
        pages = list(_pages(parsed.pages, file))
    except (DataError, MemoryError):
        raise
    except ImportError as error:
        raise MissingExtraError(parser.packages, parser.extra, str(file)) from error
    except Exception as error:  # a parser can raise anything for a damaged file
        raise DataError(
            f"{file}: {name} cannot read it ({error or type(error).__name__}). Repair the file, remove its password, "
            "or remove the file."
        ) from error
    text = (PAGE_END if options.keep_structure else "\n").join(pages)
    n_empty = sum(not page.strip() for page in pages) if file.suffix.lower() == _PDF else 0
    title = whole_characters(parsed.title).strip() or file.stem
    return FileContent([FileEntry("", title, text)], {"n_pdf_pages_without_text": n_empty})


def _pages(pages: Iterator[str], file: Path) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        location = f"{file}, page {number}"
        with limit_parsing_time(location), limit_parsing_memory(location):
            page = next(pages, None)
        if page is None:
            return
        yield whole_characters(page)


def _require_whole_content(file: Path) -> None:
    """Raise DataError for a ZIP archive, such as a file of Office, with more than 1 GiB inside."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
    if n_bytes > MAX_WHOLE_FILE_BYTES:
        raise DataError(
            f"{file}: contains {n_bytes:,} bytes, expected at most {MAX_WHOLE_FILE_BYTES:,}. Split or remove it."
        )
