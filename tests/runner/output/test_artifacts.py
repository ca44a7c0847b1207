"""An MLflow database from a stranger cannot make MLflow send keys to a server."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from components.errors import DataError
from runner.output.artifacts import require_named_server
from runner.track import main
from tests.runner.sweeping import only_sweep

OTHERS = [f"{scheme}://127.0.0.1:9/files" for scheme in ("http", "ftp", "sftp", "hdfs", "dbfs", "databricks", "new")]
OTHER = OTHERS[0]


@pytest.mark.parametrize(
    ("table", "other"),
    [("experiments.artifact_location", OTHER), *(("runs.artifact_uri", other) for other in OTHERS)],
)
def test_artifact_server_named_only_by_the_database_is_refused(
    table: str, other: str, tracked_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shutil.copy(tracked_run / "mlflow.db", tmp_path)
    name, _, column = table.partition(".")
    with sqlite3.connect(file) as database:
        database.execute(f"UPDATE {name} SET {column} = '{other}'")
    database.close()
    assert main([str(only_sweep(tracked_run)), "--uri", f"sqlite:///{file}"]) == 2
    assert f"the database sends artifacts to a server, {other}." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("sqlite:///m.db", "file:///mlartifacts"),
        ("sqlite:///m.db", "s3://bucket/mlartifacts"),
        ("http://host", "mlflow-artifacts:/1"),
        ("https://host", "https://host/api/2.0/mlflow-artifacts/artifacts/1"),
    ],
)
def test_other_artifact_locations_are_accepted(uri: str, place: str) -> None:
    require_named_server(uri, place)


@pytest.mark.parametrize("place", [OTHER, "https://me:p4ssWordX1@host/x", "mlflow-artifacts://host/x"])
def test_password_in_an_artifact_address_is_hidden(place: str) -> None:
    with pytest.raises(DataError, match="Use that server as the tracking URI") as raised:
        require_named_server("sqlite:///m.db", place)
    assert "p4ssWordX1" not in str(raised.value)
