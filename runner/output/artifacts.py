"""Files into an MLflow run: straight into its folder where that is on this machine, through the client elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlparse
from urllib.request import url2pathname

from runner.engine.linking import link_or_copy
from runner.output.mlflow_rows import Client

Content = Path | bytes
"""A file that lies somewhere already, or what is to be in it."""


def log_files(client: Client, run: Client, files: Mapping[str, Content]) -> None:
    """Adds files to a run of this `MlflowClient`, by their paths within it. Raises OSError or what MLflow raises."""
    folder = _local_folder(run.info.artifact_uri)
    if folder is not None:
        _put(folder, files)
        return
    with TemporaryDirectory() as staged:
        _put(Path(staged), files)
        client.log_artifacts(run.info.run_id, staged)


def _local_folder(uri: str) -> Path | None:
    parsed = urlparse(uri)
    return Path(url2pathname(parsed.path)) if parsed.scheme == "file" and not parsed.netloc else None


def _put(folder: Path, files: Mapping[str, Content]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            link_or_copy(content, path)
