"""Atomic exchange of two folders, where the system supports it."""

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
"""Errors of kernels, file systems and sandboxes without RENAME_EXCHANGE."""


def exchange(first: Path, second: Path) -> bool:
    """Swap two existing paths on one file system in one step: no process ever finds either path missing.

    Returns False and changes nothing if the system does not support the exchange. It needs Linux with glibc 2.28 or
    musl, and a file system with RENAME_EXCHANGE (ext4, XFS, Btrfs and tmpfs have it, NFS does not). Raises OSError.
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
def _renameat2() -> Any:
    """Return the function of the C library. None if it does not exist."""
    if not sys.platform.startswith("linux"):
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call
