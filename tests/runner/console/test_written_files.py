"""Commands write a file completely, or leave it as it was."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.table_output import write_text
from components.errors import DataError
from runner.console.written_files import require_other_files, write_lines, write_whole

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
def test_written_file_replaces_the_old_file_and_not_its_hard_links(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    path, linked = tmp_path / "table.csv", tmp_path / "linked.csv"
    path.write_text("old")
    os.link(path, linked)
    write(path)
    assert (path.read_text(), linked.read_text()) == ("new\n", "old")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["linked.csv", "table.csv"]


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("write", WRITERS)
def test_full_disk_keeps_the_old_file_and_leaves_no_other(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises((DataError, OSError), match="No space left on device"):
        write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", WRITERS[:2])
def test_output_to_a_link_is_written_to_its_target(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    write(link)
    assert (path.read_text(), link.is_symlink()) == ("new\n", True)


@pytest.mark.parametrize("write", WRITERS[:2])
def test_named_pipe_is_written_to_and_not_replaced(tmp_path: Path, write: Callable[[Path], None]) -> None:
    pipe = tmp_path / "pipe"  # like /dev/stdout and /dev/null, which only root can replace
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe)
        assert os.read(reader, 100) == b"new\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("write", WRITERS[:2])
@pytest.mark.parametrize("name", ["", "x" * 300])
def test_impossible_output_path_is_one_error(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write(tmp_path / name)


def test_output_never_replaces_an_input_or_another_output(tmp_path: Path) -> None:
    require_other_files([tmp_path / "in"], tmp_path / "out", None)
    for outputs in ([tmp_path / "sub" / ".." / "in"], [tmp_path / "out", tmp_path / "out"]):
        with pytest.raises(DataError, match="would overwrite another file of this command"):
            require_other_files([tmp_path / "in"], *outputs)


def test_result_file_replaces_a_link_instead_of_its_target(tmp_path: Path) -> None:
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    path.write_text("of another user")
    link.symlink_to(path)
    write_whole(link, b"new")
    assert (path.read_text(), link.is_symlink()) == ("of another user", False)
