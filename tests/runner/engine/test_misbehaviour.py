"""Components that fork, or end without an exception, fail at most their own stage."""

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from components.errors import ComponentError
from runner.engine.codecs import SinglePart
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Source, Sum


def leave(stage: Sum, run: Run) -> int:
    sys.exit(0)


def close_generator(stage: Sum, run: Run) -> int:
    raise GeneratorExit


class Own(BaseException):
    """A careless user's class."""


def raise_own(stage: Sum, run: Run) -> int:
    raise Own("why")


@pytest.mark.parametrize(
    ("compute", "told"),
    [
        (leave, "a component called sys.exit(0)"),
        (close_generator, "a component raised GeneratorExit"),
        (raise_own, "a component raised Own"),
    ],
)
def test_component_that_exits_fails_its_stage(compute: Callable[[Sum, Run], int], told: str, tmp_path: Path) -> None:
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=compute))
    assert run.error.startswith(
        f"source: {told} instead of raising an exception that says why (your code in this stage: "
    )


def raise_half_a_character(stage: Sum, run: Run) -> int:
    raise ValueError("no file \udcff.txt")


def test_error_with_a_lone_surrogate_can_be_encoded(tmp_path: Path) -> None:
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=raise_half_a_character))
    assert run.error.startswith("source: ValueError: no file \ufffd.txt")
    assert "no file \ufffd.txt" in run.trace.encode().decode()


def refuse_within_a_library(stage: Sum, run: Run) -> int:
    try:
        try:
            raise ComponentError("mine.py: not among the files of my_package")
        except ComponentError as error:
            raise ImportError("Error loading 'mine'") from error
    except ImportError:
        raise ValueError("Unable to configure handler 'mine'")  # noqa: B904 - its context is the cause


def test_cause_of_a_wrapped_error_is_shown(tmp_path: Path) -> None:
    """Libraries such as Hydra and logging catch what an import raises, and say less."""
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=refuse_within_a_library))
    assert run.error.startswith(
        "source: ValueError: Unable to configure handler 'mine' (caused by mine.py: not among the files of my_package)"
    )


def raise_a_book(stage: Sum, run: Run) -> int:
    raise ValueError("x" * 1_000_000)


def test_very_long_error_is_cut_in_results(tmp_path: Path) -> None:
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=raise_a_book))
    assert run.error.startswith("source: ValueError: xxx")
    assert run.error.endswith(" more characters are in error.txt)")
    assert len(run.error) < 10_100
    assert "x" * 1_000_000 in run.trace


_children: list[int] = []


def fork(stage: Sum, run: Run) -> int:
    if child := os.fork():
        _children.append(child)
        return 0
    return 1


def fork_and_fail(stage: Sum, run: Run) -> int:
    if child := os.fork():
        _children.append(child)
        return 0
    raise ValueError("in the child")


def fork_and_fail_with_the_environment(stage: Sum, run: Run) -> int:
    if child := os.fork():
        _children.append(child)
        return 0
    raise ValueError(os.environ["MY_API_KEY"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(("compute", "exit_code"), [(fork, 0), (fork_and_fail, 1)])
def test_forked_child_that_returns_from_a_component_exits(
    compute: Callable[[Sum, Run], int], exit_code: int, tmp_path: Path
) -> None:
    """Without this guard, the child would continue this process's work."""
    store = Store(tmp_path, "this run")
    stage = Source(Adder(1), compute=compute)
    run = Worker(store).run(stage)
    _, status = os.waitpid(_children.pop(), 0)
    assert (run.error, os.waitstatus_to_exitcode(status)) == ("", exit_code)
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    assert entry.part("number") == 0, "the parent's"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_child_traceback_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", "in the child, Quite-Secret-77")
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=fork_and_fail_with_the_environment))
    os.waitpid(_children.pop(), 0)
    assert run.error == ""
    assert "ValueError: ***" in capfd.readouterr().err


@dataclass(frozen=True)
class Keyed:
    """A component of a user that reads its key from a variable without a secret-like name."""

    api_key_env: str

    version: ClassVar[int] = 1


class Asked(Stage[int], kind="asked", version=1):
    codec = SinglePart("number")

    component: Keyed

    def make(self, run: Run) -> int:
        raise ValueError(f"refused {os.environ[self.component.api_key_env]}")


def test_worker_hides_the_key_that_a_component_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was not forked has none of the command's knowledge of the configuration."""
    monkeypatch.setattr("components.secrets.known._marked", set[str]())
    monkeypatch.setenv("MY_MODEL", "quite-secret-77")
    run = Worker(Store(tmp_path, "this run")).run(Asked(Keyed("MY_MODEL")))
    assert run.error.startswith("asked: ValueError: refused ***")
    assert "quite-secret" not in run.trace


@dataclass(frozen=True)
class Reading:
    """Reads a file that its key holds by content; another component may write into it meanwhile."""

    path: str
    written: str = ""

    version: ClassVar[int] = 1

    def content_hash(self) -> str:
        return sha256(Path(self.path).read_bytes()).hexdigest()


class Read(Stage[int], kind="read", version=1):
    codec = SinglePart("number")

    component: Reading

    def make(self, run: Run) -> int:
        if self.component.written:
            Path(self.component.path).write_text(self.component.written)
        return int(Path(self.component.path).read_text())


def test_file_changed_before_it_is_read_stores_no_result(tmp_path: Path) -> None:
    """If the change were undone, the stored result would belong to the other content."""
    file, store = tmp_path / "table.txt", Store(tmp_path / "store", "this run")
    file.write_text("1")
    stage = Read(Reading(str(file)))
    assert stage.key
    file.write_text("5")
    run = Worker(store).run(stage)
    assert "read: a file that one of its components reads changed while the sweep ran" in run.error
    file.write_text("1")
    assert Worker(store).run(Read(Reading(str(file)))).error == ""
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    assert entry.part("number") == 1


def test_file_changed_by_its_own_component_fails_the_stage(tmp_path: Path) -> None:
    file = tmp_path / "table.txt"
    file.write_text("1")
    run = Worker(Store(tmp_path / "store", "this run")).run(Read(Reading(str(file), written="5")))
    assert "changed while the sweep ran" in run.error


def make_array(stage: Sum, run: Run) -> Any:
    return np.ones(3)


def assign(array: Any) -> None:
    array[:] = 0


def assign_in_compiled_code(array: Any) -> None:
    ctypes.memset(array.ctypes.data, 0, array.nbytes)


@pytest.mark.parametrize("change", [assign, assign_in_compiled_code])
@pytest.mark.parametrize("is_stored", [True, False])
def test_component_that_changes_its_input_affects_no_other_result(
    change: Callable[[Any], None], is_stored: bool, tmp_path: Path
) -> None:
    source = Source(Adder(1), compute=make_array)

    def change_input(stage: Sum, run: Run) -> int:
        change(run.read(source))
        return 0

    def add_up(stage: Sum, run: Run) -> int:
        return int(np.sum(run.read(source)))

    worker = Worker(Store(tmp_path, "this run"))
    worker.run(source)
    if is_stored:
        worker = Worker(Store(tmp_path, "another run"))
    worker.run(Sum(Adder(2), {"source": source}, compute=change_input))
    last = Sum(Adder(3), {"source": source}, compute=add_up)
    assert not worker.run(last).error
    entry = Store(tmp_path, "a reader").find(last.kind, last.key)
    assert entry
    assert entry.parts()["number"] == 3


def test_component_that_changes_a_list_affects_no_other_result(tmp_path: Path) -> None:
    source = Source(Adder(1), compute=make_list)

    def change_list(stage: Sum, run: Run) -> int:
        numbers: Any = run.read(source)
        numbers.reverse()
        return 0

    worker = Worker(Store(tmp_path, "this run"))
    worker.run(source)
    worker.run(Sum(Adder(2), {"source": source}, compute=change_list))
    assert read_first(worker, source, tmp_path) == 1


def test_component_that_changes_its_result_later_affects_no_other_result(tmp_path: Path) -> None:
    returned = [1, 2, 3]

    def return_list(stage: Sum, run: Run) -> Any:
        return returned

    source = Source(Adder(1), compute=return_list)
    worker = Worker(Store(tmp_path, "this run"))
    worker.run(source)
    returned.reverse()
    assert read_first(worker, source, tmp_path) == 1


def make_list(stage: Sum, run: Run) -> Any:
    return [1, 2, 3]


def read_first(worker: Worker, source: Source, folder: Path) -> object:
    """The first number of a list, as another stage of the same worker reads it."""

    def first(stage: Sum, run: Run) -> int:
        numbers: Any = run.read(source)
        return int(numbers[0])

    last = Sum(Adder(3), {"source": source}, compute=first)
    assert not worker.run(last).error
    entry = Store(folder, "a reader").find(last.kind, last.key)
    assert entry
    return entry.parts()["number"]


def return_masked(stage: Sum, run: Run) -> Any:
    return np.ma.masked_array([1.0, 2.0], mask=[True, False])


def test_masked_array_fails_the_stage_and_names_the_class(tmp_path: Path) -> None:
    """Its mask would be lost in the file, and what it hides would count."""
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=return_masked))
    assert run.error.startswith("source: TypeError: got a masked array, whose mask cannot be stored")
    assert "Adder" in run.error
