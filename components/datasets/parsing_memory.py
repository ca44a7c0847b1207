"""A limit on the memory that a parser may take for one page: a few kilobytes can unpack to many gigabytes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.errors import DataError

MAX_PAGE_GIB = 8
"""PDFium needs 5 GiB for the largest content that it unpacks, and ends the process if it gets no memory."""
_GIB = 2**30
_PAGES_IN_USE = Path("/proc/self/statm")


@contextmanager
def limit_parsing_memory(location: str) -> Iterator[None]:
    """Raise DataError if the block allocates more than 8 GiB. The error names `location`.

    There is no limit outside the main thread, or on systems other than Linux.
    """
    if threading.current_thread() is not threading.main_thread() or not _PAGES_IN_USE.exists():
        yield
        return
    import resource  # Windows lacks this module

    before = resource.getrlimit(resource.RLIMIT_AS)
    max_bytes = int(_PAGES_IN_USE.read_text().split()[0]) * resource.getpagesize() + MAX_PAGE_GIB * _GIB
    finite = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([max_bytes, *finite]), before[1]))
    try:
        yield
    except MemoryError as error:
        raise memory_error(location) from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def memory_error(location: str) -> DataError:
    """Return the error for a page that takes too much memory."""
    return DataError(
        f"{location}: takes more than {MAX_PAGE_GIB} GiB of memory to parse. Repair the file, convert it to text, or "
        "remove it."
    )
