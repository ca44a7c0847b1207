"""A second name for a file, so that what is in the store, the results and MLflow takes its place on the disk once."""

import os
import shutil
import uuid
from pathlib import Path


def link_or_copy(source: Path, path: Path) -> None:
    """Puts a file in a second place, in one step and instead of what is there. Our files are replaced, never written
    into, so that neither place can change what the other holds, and each can be removed by itself. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        try:
            os.link(source, temporary)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, one without links, or somebody else's file in a shared store
            shutil.copy2(source, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # renaming a name of a file to another of the same file leaves both
