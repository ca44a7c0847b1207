import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from components.errors import DataError
from runner.engine.store import locks
from runner.output.mlflow_database import database_file, lock_file, open_client, tracking_lock

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # MLflow's own queries


def experiments_in(file: Path) -> list[str]:
    with sqlite3.connect(file) as connection:
        found = [name for (name,) in connection.execute("select name from experiments")]
    connection.close()
    return found


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("sqlite:////a/mlflow.db", Path("/a/mlflow.db")),
        ("sqlite:////a/mlflow.db?timeout=5", Path("/a/mlflow.db")),
        ("http://localhost:5000", None),
    ],
)
def test_sqlite_tracking_uris_are_local_files(uri: str, expected: Path | None) -> None:
    assert database_file(uri) == expected


def test_sweeps_of_several_folders_share_the_lock_of_one_database(tmp_path: Path) -> None:
    """`mlflow.db` is next to the results folders, however many exist."""
    locks = {lock_file(f"sqlite:///{tmp_path}/mlflow.db", tmp_path / name) for name in ("one", "other")}
    assert len(locks) == 1


def test_process_waiting_for_the_database_logs_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "_WARN_AFTER_S", 0.05)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    path = lock_file(uri, tmp_path)
    with FileLock(path):
        waiting = threading.Thread(target=lambda: tracking_lock(uri, tmp_path).__enter__(), daemon=True)
        waiting.start()
        waiting.join(0.3)
    waiting.join(20)
    assert not waiting.is_alive()
    assert [record.getMessage() for record in caplog.records] == [
        f"waiting for another process, which is logging to MLflow (it holds {path})"
    ]


def test_new_database_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    """With a umask of 002, users of a group share a database. SQLite alone would set 644."""
    file = tmp_path / "mlflow.db"
    umask = os.umask(0o002)
    try:
        open_client(f"sqlite:///{file}")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o664


@pytest.mark.parametrize("closed", ["folder/mlflow.db", "folder"])
def test_database_of_another_user_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    """SQLite writes into the folder too."""
    file = tmp_path / "folder" / "mlflow.db"
    file.parent.mkdir()
    open_client(f"sqlite:///{file}")
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path / closed, os.W_OK))
    with pytest.raises(DataError, match=rf"{closed}: no write permission\. Make it writable"):
        open_client(f"sqlite:///{file}")


def test_database_of_an_interrupted_creation_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mlflow.db"
    with monkeypatch.context() as interrupted:
        interrupted.setattr(
            "mlflow.store.db.utils._upgrade_db", _interrupt
        )  # the first tables exist, the others do not
        with pytest.raises(KeyboardInterrupt):
            open_client(f"sqlite:///{file}")
    assert not file.exists()
    client = open_client(f"sqlite:///{file}")
    client.create_experiment("mine")
    assert "mine" in experiments_in(file)
    assert [path.name for path in tmp_path.iterdir()] == ["mlflow.db"]


def _interrupt(_: object) -> None:
    raise KeyboardInterrupt


def test_locked_database_suggests_a_retry_and_not_a_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    (tmp_path / "mlflow.db").write_bytes(b"SQLite format 3")
    monkeypatch.setattr("mlflow.MlflowClient", locked)
    with pytest.raises(
        DataError, match=r"\(database is locked\)\. Another program is writing to it\. Try again"
    ) as told:
        open_client(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert "move it away" not in str(told.value)


@pytest.mark.parametrize("content", ["half-made", "damaged"])
def test_unreadable_database_error_suggests_a_move(tmp_path: Path, content: str) -> None:
    file = tmp_path / "mlflow.db"
    if content == "damaged":
        file.write_text("no database at all")
    else:
        with sqlite3.connect(file) as connection:
            connection.execute("create table experiments (name text)")
        connection.close()
    with pytest.raises(DataError, match=r"mlflow\.db: MLflow cannot open this database \(.+\)\. .*move it away"):
        open_client(f"sqlite:///{file}")
