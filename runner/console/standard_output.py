"""Standard output of a command: a reader that went away and a disk that is full end no command with a traceback."""

import errno
import io
import os
import sys
from contextlib import suppress

_READER_IS_GONE = frozenset({errno.EPIPE, errno.EIO})
"""A pipe to `head` that has read enough, and a terminal that was closed."""


class StandardOutput(io.TextIOWrapper):
    """Standard output that escapes what its encoding lacks, and drops what cannot be written.

    The first failure to write is reported on standard error, unless the reader went away.
    """

    is_lost = False
    """True if something was lost for which a reader may still wait, as on a full disk."""

    def write(self, text: str) -> int:
        """Return the length of the text."""
        try:
            return super().write(text)
        except OSError as error:
            self._drop_output(error)
            return len(text)

    def flush(self) -> None:
        """Raise nothing for a disk that is full."""
        try:
            super().flush()
        except OSError as error:
            self._drop_output(error)

    def _drop_output(self, error: OSError) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if error.errno not in _READER_IS_GONE and not self.is_lost:
            self.is_lost = True
            with suppress(OSError):
                sys.stderr.write(f"standard output: {error.strerror or error}; the rest of it is lost\n")


def guard_standard_output() -> None:
    """Replace `sys.stdout` by a `StandardOutput`. Leaves streams that are no files as they are."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, StandardOutput):
        return
    encoding, buffered, through = stream.encoding, stream.line_buffering, stream.write_through
    guarded = StandardOutput(
        stream.detach(), encoding, "backslashreplace", line_buffering=buffered, write_through=through
    )
    sys.stdout = sys.__stdout__ = guarded  # type: ignore[misc]


def is_output_lost() -> bool:
    """Flush standard output, and return whether something could not be written that a reader may wait for."""
    with suppress(ValueError):  # it was closed
        sys.stdout.flush()
    return isinstance(sys.stdout, StandardOutput) and sys.stdout.is_lost
