"""A database of MLflow that somebody else wrote: it names no server to which MLflow sends keys."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from components.errors import DataError
from runner.output.artifacts import require_named_server
from runner.track import main
from tests.runner.sweeping import only_sweep

OTHER = "http://127.0.0.1:9/files"


@pytest.mark.parametrize("table", ["experiments.artifact_location", "runs.artifact_uri"])
def test_artifact_server_named_only_by_the_database_is_refused(
    table: str, tracked_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shutil.copy(tracked_run / "mlflow.db", tmp_path)
    name, _, column = table.partition(".")
    with sqlite3.connect(file) as database:
        database.execute(f"UPDATE {name} SET {column} = '{OTHER}'")
    database.close()
    assert main([str(only_sweep(tracked_run)), "--uri", f"sqlite:///{file}"]) == 2
    assert f"the database sends artifacts to {OTHER}, a server that would see" in capsys.readouterr().err


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
def test_a_password_in_the_place_is_not_repeated(place: str) -> None:
    with pytest.raises(DataError, match="name that server as tracking URI") as raised:
        require_named_server("sqlite:///m.db", place)
    assert "p4ssWordX1" not in str(raised.value)
