"""Protects standard output: neither a reader that went away nor a full disk causes a traceback."""

import errno
import io
import os
import sys
from contextlib import suppress

_READER_IS_GONE = frozenset({errno.EPIPE, errno.EIO})
"""Errors of a pipe whose reader has read enough, such as `head`, and of a closed terminal."""


class StandardOutput(io.TextIOWrapper):
    """Standard output that escapes characters that its encoding lacks, and drops text that cannot be written.

    The first failure to write is reported on standard error, unless the reader went away.
    """

    is_lost = False
    """True if output was lost that a reader may still expect, as on a full disk."""

    def write(self, text: str) -> int:
        """Write the text, and return its length."""
        try:
            return super().write(text)
        except OSError as error:
            self._drop_output(error)
            return len(text)

    def flush(self) -> None:
        """Flush without raising an error, even on a full disk."""
        try:
            super().flush()
        except OSError as error:
            self._drop_output(error)

    def _drop_output(self, error: OSError) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if error.errno not in _READER_IS_GONE and not self.is_lost:
            self.is_lost = True
            with suppress(OSError):
                sys.stderr.write(f"standard output: {error.strerror or error}; the rest of the output is lost\n")


def guard_standard_output() -> None:
    """Replace `sys.stdout` by a `StandardOutput`, unless it is not a file."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, StandardOutput):
        return
    encoding, buffered, through = stream.encoding, stream.line_buffering, stream.write_through
    guarded = StandardOutput(
        stream.detach(), encoding, "backslashreplace", line_buffering=buffered, write_through=through
    )
    sys.stdout = sys.__stdout__ = guarded  # type: ignore[misc]


def is_output_lost() -> bool:
    """Flush standard output, and return whether output was lost that a reader may still expect."""
    with suppress(ValueError):  # standard output was closed
        sys.stdout.flush()
    return isinstance(sys.stdout, StandardOutput) and sys.stdout.is_lost
