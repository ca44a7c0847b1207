"""Hard links: a file in the store, in the results and in MLflow occupies the disk once."""

import os
import shutil
import uuid
from pathlib import Path


def link_or_copy(source: Path, path: Path) -> None:
    """Link or copy a file to a second path in one step, replacing any file there. Raises OSError.

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
