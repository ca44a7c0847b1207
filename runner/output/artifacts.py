"""Adds files to an MLflow run: directly into its folder if that is on this machine, otherwise through the client."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

from components.errors import DataError
from components.secrets.mask import mask_text
from runner.engine.file_operations import link_or_copy

Client = Any  # MLflow's client and the entities that it returns. MLflow has no types, and is imported late.

Content = Path | bytes
"""An existing file, or the content of a new one."""

_FOLDERS_AND_BUCKETS = ("", "file", "s3", "r2", "b2", "gs", "wasbs", "abfss")
"""Artifact schemes that are acceptable in a database from another person, because they need credentials for exactly
that location.

Other schemes name servers, which get the artifacts, and some of them MLFLOW_TRACKING_TOKEN.
"""

_LOCAL_SCHEMES = ("sqlite", "file", "")


def require_named_server(tracking_uri: str, address: str) -> None:
    """Raise DataError if a local database sends artifacts to a server.

    The user did not name that server, and the database may come from another person.
    """
    if urlparse(tracking_uri).scheme in _LOCAL_SCHEMES and urlparse(address).scheme not in _FOLDERS_AND_BUCKETS:
        raise DataError(
            f"the database sends artifacts to a server, {mask_text(address)}. Use that server as the tracking URI, "
            "or move the database away. The next sweep creates a new one."
        )


def log_files(client: Client, run: Client, files: Mapping[str, Content]) -> None:
    """Add files to a run, by their paths within it. `client` is an `MlflowClient`.

    Raises OSError if a file cannot be written, whatever MLflow raises, and DataError if a local database sends
    artifacts to a server.
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
    """Return the folder of artifacts at an address, or None if it is not on this machine."""
    parsed = urlparse(uri)
    return Path(url2pathname(parsed.path)) if parsed.scheme == "file" and not parsed.netloc else None


def put_files(folder: Path, files: Mapping[str, Content]) -> None:
    """Write or link files into a folder, by their paths within it. Missing folders are created.

    Raises OSError if a file cannot be read or written.
    """
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            link_or_copy(content, path)
