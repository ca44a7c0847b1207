"""Refuses symbolic links in a store, because a process that removes files would follow them out of it, and refuses
pipes and devices.
"""

import os
from pathlib import Path

from components.errors import StoreError

_LEVELS = {
    "entries": 3,
    "exports": 1,
    "limits": 1,
    "pair_scores": 2,
    "replies": 2,
    "runs": 1,
    "unsent": 3,
    "workspaces": 1,
    "writers": 1,
}
"""Levels of folders that must contain no links. Locks are links, and components may leave links in `tmp` and
workspaces.
"""


def refuse_folder_links(root: Path) -> None:
    """Raise StoreError if a folder of the store, or a folder of results or of replies, is a symbolic link.

    Raises OSError if a folder cannot be listed.
    """
    _refuse(root, 1)
    _refuse(root / "entries", 2)
    _refuse(root / "replies", 1)


def refuse_links(root: Path) -> None:
    """Raise StoreError for a symbolic link, a pipe or a device among the folders, results, replies and records.

    Raises OSError if a folder cannot be listed.
    """
    _refuse(root, 1)
    for name, n_levels in _LEVELS.items():
        _refuse(root / name, n_levels)


def _refuse(folder: Path, n_levels: int) -> None:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:  # a new store lacks some folders, and another process may be pruning
        return
    for each in entries:
        if each.is_symlink():
            raise StoreError(
                f"{each.path}: is a symbolic link in a store, expected a real file or folder, because the target "
                "would be read and removed with the store. Replace the link with its target, or delete it. To "
                "keep a store on another disk, link the whole store."
            )
        if not (each.is_file() or each.is_dir()):
            raise StoreError(
                f"{each.path}: is neither a file nor a folder, expected the files of a store. Delete it, because "
                "reading it may never end."
            )
        if n_levels > 1 and each.is_dir():
            _refuse(Path(each.path), n_levels - 1)
