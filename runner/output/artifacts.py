"""Files into an MLflow run: straight into its folder where that is on this machine, through the client elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

from components.errors import DataError
from components.secrets.mask import masked
from runner.engine.file_operations import link_or_copy

Client = Any  # MLflow's client and what it returns: MLflow has no types, and is imported late

Content = Path | bytes
"""A file that lies somewhere already, or what is to be in it."""


_OF_SERVERS = ("http", "https", "mlflow-artifacts")
"""Schemes of servers to which MLflow sends MLFLOW_TRACKING_TOKEN or MLFLOW_TRACKING_PASSWORD."""
_LOCAL = ("sqlite", "file", "")


def require_named_server(tracking_uri: str, place: str) -> None:
    """Raise DataError if a local database sends artifacts to a server: nobody named it, and the database may come from
    somebody else.
    """
    if urlparse(tracking_uri).scheme in _LOCAL and urlparse(place).scheme in _OF_SERVERS:
        raise DataError(
            f"the database sends artifacts to {masked(place)}, a server that would see MLflow's token or password; "
            "name that server as tracking URI, or move the database away: the next sweep makes a new one"
        )


def log_files(client: Client, run: Client, files: Mapping[str, Content]) -> None:
    """Adds files to a run of this `MlflowClient`, by their paths within it. Raises OSError, what MLflow raises, and
    DataError as `require_named_server`.
    """
    require_named_server(client.tracking_uri, run.info.artifact_uri)
    folder = local_folder(run.info.artifact_uri)
    if folder is not None:
        put_files(folder, files)
        return
    with TemporaryDirectory() as staged:
        put_files(Path(staged), files)
        client.log_artifacts(run.info.run_id, staged)


def local_folder(uri: str) -> Path | None:
    """The folder of artifacts at an address; None if that is not on this machine."""
    parsed = urlparse(uri)
    return Path(url2pathname(parsed.path)) if parsed.scheme == "file" and not parsed.netloc else None


def put_files(folder: Path, files: Mapping[str, Content]) -> None:
    """Puts files into a folder, which is made, by their paths within it. Raises OSError."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            link_or_copy(content, path)
