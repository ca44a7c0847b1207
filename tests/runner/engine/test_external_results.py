"""Results with a part outside of the store: they are computed again after its loss."""

from dataclasses import field
from pathlib import Path

import pytest

from components.errors import DamagedEntryError
from components.fields import runtime_only
from runner.engine.codecs import Parts, SinglePart
from runner.engine.executors.local import Local
from runner.engine.outcome import StageRun
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store


class Collection(Stage[str], kind="collection", version=1):
    """The name of a file in a folder that is not the store."""

    codec = SinglePart("name")

    server: str = runtime_only("", "where it lies")

    def make(self, run: Run) -> str:
        Path(self.server, "numbers").write_text("1 2 3")
        return "numbers"

    def lost(self, parts: Parts) -> list[str]:
        return [] if Path(self.server, parts["name"]).exists() else [f"{parts['name']} is not there"]


class Total(Stage[int], kind="total", version=1):
    """The total of a collection."""

    codec = SinglePart("total")

    collection: Collection
    times: int = 1
    tried: list[str] = field(default_factory=list, metadata={"runtime_only": "a note on the side"})

    def make(self, run: Run) -> int:
        name = run.read(self.collection)
        self.tried.append(name)
        try:
            return self.times * sum(map(int, Path(self.collection.server, name).read_text().split()))
        except FileNotFoundError as error:
            raise DamagedEntryError(f"{name} is not there") from error


@pytest.fixture
def server(tmp_path: Path) -> Path:
    folder = tmp_path / "server"
    folder.mkdir()
    return folder


def run(store: Store, wanted: Stage[int]) -> list[StageRun]:
    return list(run_stages(make_plan([(wanted, 1)], store).order, store, Local()))


def test_missing_collection_is_rebuilt_on_demand(tmp_path: Path, server: Path) -> None:
    store = Store(tmp_path / "store")
    collection = Collection(str(server))
    run(store, Total(collection))
    (server / "numbers").unlink()
    again = Total(collection, times=2)
    (ended,) = run(Store(tmp_path / "store"), again)
    assert (ended.error, ended.damaged) == ("", (f"collection {collection.key[:12]}: numbers is not there",))
    assert len(again.tried) == 2
    assert store.find("total", again.key) is not None


def test_deleted_external_collection_recomputes_nothing_if_unneeded(tmp_path: Path, server: Path) -> None:
    store = Store(tmp_path / "store")
    total = Total(Collection(str(server)))
    run(store, total)
    (server / "numbers").unlink()
    assert run(store, total) == []


def test_collection_that_keeps_disappearing_fails_its_stage(tmp_path: Path, server: Path) -> None:
    class Forgetful(Collection):
        def make(self, run: Run) -> str:
            return "numbers"

    total = Total(Forgetful(str(server)))
    ended = run(Store(tmp_path / "store"), total)
    assert ended[-1].error == "total: numbers is not there"
    assert len(total.tried) == 3
