import os
from pathlib import Path

import pytest

from runner.engine.store.manifests import MANIFEST, MANIFEST_ERRORS, Manifests, named_files

SUM = "0" * 64


def test_manifest_names_files_with_checksum_and_size() -> None:
    files = {"vectors.npy": [SUM, 8], "矩阵 1.csv": [SUM, 0]}
    assert named_files({"files": files}) == {"vectors.npy": (SUM, 8), "矩阵 1.csv": (SUM, 0)}


@pytest.mark.parametrize(
    "files",
    [
        *({name: [SUM, 8]} for name in ("../a", "/a", "a/b", "..", ".", "", ".tag", "manifest.json", "a\0b", "\ud800")),
        *({"a": [SUM, size]} for size in (float("inf"), float("nan"), -1, 1.5, "8", None, 10**400)),
        *({"a": [digest, 8]} for digest in ("../" + SUM, "", "x", None, 7)),
        {"a": 1},
        [],
        None,
    ],
    ids=repr,
)
def test_manifest_with_unexpected_files_is_rejected(files: object) -> None:
    with pytest.raises(MANIFEST_ERRORS):
        named_files({"files": files})


@pytest.mark.timeout(20)
def test_manifest_that_is_a_fifo_counts_as_damaged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MANIFEST)
    manifests = Manifests()
    assert manifests.read(tmp_path, tmp_path) is None
    assert manifests.is_damaged(tmp_path)
