import hashlib
import json
from pathlib import Path

import pytest

from runner.engine.store.bucket.packing import large_files, pack, packed_files, read_file_names, unpack

MIB = 1 << 20


def manifest_of(contents: dict[str, bytes]) -> bytes:
    files = {name: [hashlib.sha256(each).hexdigest(), len(each)] for name, each in contents.items()}
    return json.dumps({"kind": "vectors", "files": files}).encode()


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    contents = {"b.json": b'{"n": 8}\n', "a.npy": b"\x00" * 100, "empty.bin": b""}
    for name, each in contents.items():
        (tmp_path / name).write_bytes(each)
    manifest = manifest_of(contents)
    return pack(manifest, read_file_names(manifest) or {}, tmp_path)


def test_packed_files_are_unpacked_unchanged(packed: bytes) -> None:
    unpacked = unpack(packed)
    assert unpacked is not None
    manifest, contents = unpacked
    assert read_file_names(manifest) == read_file_names(manifest_of(contents))
    assert contents == {"b.json": b'{"n": 8}\n', "a.npy": b"\x00" * 100, "empty.bin": b""}


@pytest.mark.parametrize("damage", ["cut", "longer", "flipped", "empty", "no manifest"])
def test_damaged_package_of_files_is_not_unpacked(packed: bytes, damage: str) -> None:
    damaged = {
        "cut": packed[:-1],
        "longer": packed + b"x",
        "flipped": packed[:-5] + bytes([packed[-5] ^ 1]) + packed[-4:],
        "empty": b"",
        "no manifest": packed[:8] + b"x" * (len(packed) - 8),
    }[damage]
    assert unpack(damaged) is None


def test_large_files_and_files_beyond_the_total_limit_stay_outside() -> None:
    files = {"large": ("", 4 * MIB + 1), **{f"part{n}": ("", 4 * MIB) for n in range(6)}, "small": ("", 1)}
    assert packed_files(files) == ["small", "part0", "part1", "part2"]
    assert large_files(files) == ["large", "part3", "part4", "part5"]


def test_manifest_paths_outside_of_its_folder_are_refused() -> None:
    assert read_file_names(json.dumps({"files": {"../../evil": ["0" * 64, 1]}}).encode()) is None
    assert read_file_names(json.dumps({"files": {"good": ["0" * 64, 1]}}).encode()) == {"good": ("0" * 64, 1)}
    assert read_file_names(b"[" * 100_000) is None
