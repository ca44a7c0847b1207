"""Operations on files and folders in one step: a link or copy to a second path, and the exchange of two folders.

A linked file occupies the disk once in the store, in the results and in MLflow.
"""

import ctypes
import errno
import os
import shutil
import sys
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
"""Errors of kernels, file systems and sandboxes without RENAME_EXCHANGE."""


def link_or_copy(source: Path, path: Path) -> None:
    """Link or copy a file to a second path in one step, replacing any file there. Raises OSError if `source` does not
    exist or `path` cannot be written.

    We replace files and never write into them, so neither path can change the other's content. Each can be deleted by
    itself.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        try:
            os.link(source, temporary)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, no support for links, or another user's file in a shared store
            shutil.copy2(source, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # a rename between two links to the same file leaves both


def exchange(first: Path, second: Path) -> bool:
    """Swap two existing paths on one file system in one step: no process ever finds either path missing.

    Returns False and changes nothing if the system does not support the exchange. It needs Linux with glibc 2.28 or
    musl, and a file system with RENAME_EXCHANGE (ext4, XFS, Btrfs and tmpfs have it, NFS does not). Raises OSError for
    a missing path, and if the system refuses for another reason.
    """
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))


@cache
def _renameat2() -> Callable[..., int] | None:
    """Return the function of the C library. None if it does not exist."""
    if not sys.platform.startswith("linux"):
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    call: Callable[..., int] = function
    return call
