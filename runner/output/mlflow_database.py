"""Opens MLflow's tracking store. A database in a local file is made whole or not at all.

MLflow makes its tables in dozens of steps, each committed by itself. A database in which a kill interrupted them can
never be opened again: the next process repeats a step and finds its tables there.
"""

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from components.errors import DataError
from runner.engine.store.locks import held
from runner.output.artifacts import Client

_SQLITE = "sqlite:///"
_IN_USE = "database is locked"
"""What SQLite says of a database that another process writes to, after it has waited."""


def database_file(uri: str) -> Path | None:
    """The file of a local database; None for a server."""
    return Path(uri.removeprefix(_SQLITE).partition("?")[0]).resolve() if uri.startswith(_SQLITE) else None


def tracking_lock(uri: str, results_dir: Path) -> AbstractContextManager[None]:
    """Held while the tracking store is written to: see `lock_file`. A process that has to wait says so."""
    return held(lock_file(uri, results_dir), "logging to MLflow")


def lock_file(uri: str, results_dir: Path) -> Path:
    """Return the lock's path: beside a local database, or in the folder of results for a server."""
    file = database_file(uri)
    return results_dir / ".mlflow.lock" if file is None else file.with_name(f".{file.name}.lock")


def open_client(uri: str) -> Client:
    """MLflow's client; a local database that is not there is made first. To be called with the lock held.

    Raises DataError for a database that MLflow cannot open, and what MLflow raises for a server.
    """
    from mlflow import MlflowClient

    file = database_file(uri)
    if file is None:
        return MlflowClient(uri)
    if not file.exists() or not file.stat().st_size:
        with _made_beside(file) as unfinished:
            _close(MlflowClient(f"{_SQLITE}{unfinished}"))
    try:
        return MlflowClient(uri)
    except Exception as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        what_to_do = (
            "Another program writes to it: try again when that has ended"
            if _IN_USE in cause
            else "If it is damaged, or half-made because a process was killed, move it away "
            f"(mv {file.name} {file.name}.broken): the next sweep makes a new one"
        )
        raise DataError(f"{file}: MLflow cannot open this database ({cause}). {what_to_do}") from error


@contextmanager
def _made_beside(file: Path) -> Iterator[Path]:
    """A name for what becomes `file` at the end; what killed processes left under such names goes first."""
    for leftover in file.parent.glob(f".{file.name}.*.unfinished*"):
        leftover.unlink()
    unfinished = file.with_name(f".{file.name}.{uuid.uuid4().hex}.unfinished")
    yield unfinished
    unfinished.replace(file)


def _close(client: Client) -> None:
    """Everything is in the file then."""
    client._tracking_client.store.engine.dispose()
