"""Files that commands write are there as a whole, or as they were."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.table_output import write_text
from components.errors import DataError
from runner.console.written_files import write_lines, write_whole

WRITERS: list[Callable[[Path], None]] = [
    lambda path: write_text(path, "new\n"),
    lambda path: write_lines(path, ["new"]),
    lambda path: write_whole(path, b"new\n"),
]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def take_a_part(path: Path, content: bytes) -> int:
        write(path, content[:1])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", take_a_part)


@pytest.mark.parametrize("write", WRITERS)
def test_replaces_the_file_before(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path, linked = tmp_path / "table.csv", tmp_path / "linked.csv"
    path.write_text("old")
    os.link(path, linked)
    write(path)
    assert (path.read_text(), linked.read_text()) == ("new\n", "old")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["linked.csv", "table.csv"]


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("write", WRITERS)
def test_a_full_disk_leaves_the_file_before_and_no_other(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises((DataError, OSError), match="No space left on device"):
        write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_goes_where_a_link_leads(tmp_path: Path) -> None:
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    write_text(link, "new")
    assert (path.read_text(), link.is_symlink()) == ("new", True)


def test_results_never_follow_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    path.write_text("of another user")
    link.symlink_to(path)
    write_whole(link, b"new")
    assert (path.read_text(), link.is_symlink()) == ("of another user", False)
