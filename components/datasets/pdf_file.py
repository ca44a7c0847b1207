"""The text of PDF files, read with pypdf."""

from pathlib import Path
from typing import TYPE_CHECKING

from components.datasets.file_content import PAGE_END, FileContent, FileEntry, ReadingOptions
from components.datasets.parsing_time import limit_parsing_time
from components.errors import DataError, MissingExtraError
from components.text.normalize import whole_characters
from components.text.radicals import restore_ideographs

if TYPE_CHECKING:
    from pypdf import PdfReader


def read_pdf(file: Path, options: ReadingOptions) -> FileContent:
    """Return the text of all pages, with `restore_ideographs`. Pages without text, such as scans, are counted.

    Raises DataError for a file that is damaged, needs a password, or has a page that takes more than a minute to read.
    Raises MissingExtraError without pypdf.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import FileNotDecryptedError
    except ImportError as error:
        raise MissingExtraError("pypdf", "readers", str(file)) from error
    try:
        with limit_parsing_time(str(file)):
            reader = PdfReader(file)
            n_pages = len(reader.pages)
        pages = [_page_text(reader, number, file) for number in range(n_pages)]
        title = whole_characters(str((reader.metadata and reader.metadata.title) or file.stem))
    except DataError:
        raise
    except FileNotDecryptedError as error:
        raise DataError(f"{file}: is protected by a password. Save it without one, or remove the file.") from error
    except Exception as error:  # the parser can raise anything for a damaged file
        raise DataError(f"{file}: cannot be read as PDF ({error}). Repair the file, or remove it.") from error
    text = (PAGE_END if options.keep_structure else "\n").join(pages)
    n_empty = sum(not page.strip() for page in pages)
    return FileContent([FileEntry("", title, text)], {"n_pdf_pages_without_text": n_empty})


def _page_text(reader: "PdfReader", number: int, file: Path) -> str:
    with limit_parsing_time(f"{file}, page {number + 1}"):
        return restore_ideographs(whole_characters(reader.pages[number].extract_text()))
