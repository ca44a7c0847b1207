"""The text of PDF files, by pypdf."""

from pathlib import Path

from components.datasets.file_content import Entry, FileContent, ReadingOptions
from components.errors import DataError, MissingExtraError
from components.text.normalize import whole_characters

_PAGE_END = "\n\f\n"


def read_pdf(file: Path, options: ReadingOptions) -> FileContent:
    """The text of all pages; those that are pictures have none, and are counted. Raises DataError for a file that is
    damaged, or cannot be opened without a password.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import FileNotDecryptedError
    except ImportError as error:
        raise MissingExtraError("pypdf", "readers", str(file)) from error
    try:
        reader = PdfReader(file)
        pages = [whole_characters(page.extract_text()) for page in reader.pages]
        title = whole_characters(str((reader.metadata and reader.metadata.title) or file.stem))
    except FileNotDecryptedError as error:
        raise DataError(f"{file}: is protected by a password. Save it without one, or remove the file.") from error
    except Exception as error:  # a damaged file can raise anything, from deep inside the parser
        raise DataError(f"{file}: cannot be read as PDF ({error}). Mend the file, or remove it.") from error
    text = (_PAGE_END if options.keep_structure else "\n").join(pages)
    n_empty = sum(not page.strip() for page in pages)
    return FileContent([Entry("", title, text)], {"n_pdf_pages_without_text": n_empty})
