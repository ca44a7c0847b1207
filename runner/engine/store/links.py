"""Refuses symbolic links in a store. Processes remove files from its folders, and a link would lead them elsewhere."""

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
    "workspaces": 1,
    "writers": 1,
}
"""Levels of folders that hold no links. Locks are links; components may leave links in `tmp` and in a workspace."""


def refuse_links_of_folders(root: Path) -> None:
    """Raise StoreError if a folder of the store, or a folder of replies, is a symbolic link; OSError if one cannot be
    listed.
    """
    _refuse(root, 1)
    _refuse(root / "replies", 1)


def refuse_links(root: Path) -> None:
    """Check as `refuse_links_of_folders`, and each result, reply and record too."""
    _refuse(root, 1)
    for name, n_levels in _LEVELS.items():
        _refuse(root / name, n_levels)


def _refuse(folder: Path, n_levels: int) -> None:
    try:
        found = list(os.scandir(folder))
    except FileNotFoundError:  # a store begins without some folders; others may be pruning
        return
    for each in found:
        if each.is_symlink():
            raise StoreError(
                f"{each.path}: a symbolic link in a store, expected a file or folder of its own: what it leads to "
                "would be read and removed with the store. Replace the link by what it leads to, or delete it; to keep "
                "a store on another disk, link the whole store"
            )
        if n_levels > 1 and each.is_dir():
            _refuse(Path(each.path), n_levels - 1)
