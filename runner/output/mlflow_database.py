"""Opens MLflow's tracking store. A database in a local file is created atomically.

MLflow creates its tables in dozens of steps, and commits each of them. If a kill interrupts these, the database can
never be opened again: the next process repeats a step, and fails because its tables exist.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from components.errors import DataError
from runner.engine.store.locks import hold_lock
from runner.output.artifacts import Client

_SQLITE = "sqlite:///"
_IN_USE = "database is locked"
"""SQLite's message, after waiting, for a database that another process writes to."""


def database_file(uri: str) -> Path | None:
    """Return the file of a local database, or None for a server."""
    return Path(uri.removeprefix(_SQLITE).partition("?")[0]).resolve() if uri.startswith(_SQLITE) else None


def tracking_lock(uri: str, results_dir: Path) -> AbstractContextManager[None]:
    """Return the lock to hold while writing to the tracking store: see `lock_file`. A waiting process prints a line."""
    return hold_lock(lock_file(uri, results_dir), "logging to MLflow")


def lock_file(uri: str, results_dir: Path) -> Path:
    """Return the lock's path: next to a local database, or in the folder of results for a server."""
    file = database_file(uri)
    return results_dir / ".mlflow.lock" if file is None else file.with_name(f".{file.name}.lock")


def open_client(uri: str) -> Client:
    """Return MLflow's client. A missing local database is created. Call this with the lock held.

    Raises DataError for a database that MLflow cannot open, and whatever MLflow raises for a server.
    """
    from mlflow import MlflowClient

    file = database_file(uri)
    if file is None:
        return MlflowClient(uri)
    if not file.exists() or not file.stat().st_size:
        with _create_atomically(file) as unfinished:
            _close(MlflowClient(f"{_SQLITE}{unfinished}"))
    for path in (file, file.parent):  # SQLite creates a journal next to the database
        if not os.access(path, os.W_OK):
            raise DataError(f"{path}: no write permission. Make it writable (chmod g+w), or choose another database.")
    try:
        return MlflowClient(uri)
    except Exception as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        advice = (
            "Another program is writing to it. Try again when that program has ended."
            if _IN_USE in cause
            else f"If it is damaged, or incomplete because a process was killed, move it away (mv {file.name} "
            f"{file.name}.broken). The next sweep creates a new one."
        )
        raise DataError(f"{file}: MLflow cannot open this database ({cause}). {advice}") from error


@contextmanager
def _create_atomically(file: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `file` at the end. Files that killed processes left there are deleted."""
    for leftover in file.parent.glob(f".{file.name}.*.unfinished*"):
        leftover.unlink()
    unfinished = file.with_name(f".{file.name}.{uuid.uuid4().hex}.unfinished")
    unfinished.touch()  # with the permissions of the umask; SQLite would take away the permissions of the group
    yield unfinished
    unfinished.replace(file)


def _close(client: Client) -> None:
    """Close the database, so that everything is in its file."""
    client._tracking_client.store.engine.dispose()
