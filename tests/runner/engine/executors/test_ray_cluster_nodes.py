"""The resources of nodes, and the nodes whose results are accepted."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import ConfigError
from runner.engine.environment import versions_to_match
from runner.engine.executors import ray_worker_slots
from runner.engine.executors.host_comparison import differences
from runner.engine.executors.ray_cluster import RayCluster
from runner.engine.executors.ray_cluster_nodes import Node, NodeAcceptance, compute_share, has_room, subtract_resources
from runner.engine.executors.ray_cluster_worker import NodeFacts, RayWorker
from runner.engine.schedule import run_stages
from runner.engine.stage import Resources
from runner.engine.store import Store
from tests.extras import skip_without
from tests.runner.engine.fake_stages import Adder, Left, Right, Sum


def nodes(*cpus: int) -> list[Node]:
    return [Node(str(n), f"10.0.0.{n}", Resources(n_cpus)) for n, n_cpus in enumerate(cpus)]


@pytest.mark.parametrize(
    ("cpus", "n_workers", "share"),
    [((8, 8), 0, 1), ((8, 8), 2, 8), ((8, 8), 3, 4), ((6, 2), 2, 3), ((2,), 4, 1), ((0, 4), 1, 4), ((), 2, 1)],
)
def test_ray_workers_have_equal_shares_of_the_cores(cpus: tuple[int, ...], n_workers: int, share: int) -> None:
    assert compute_share(nodes(*cpus), n_workers) == share


def test_gpu_fractions_add_up_to_one_gpu() -> None:
    third = Resources(1, 1 / 3)
    left = subtract_resources(Resources(8, 1.0), [third, third])
    assert has_room(third, left)
    assert not has_room(third, subtract_resources(left, [third]))


def test_node_with_too_little_memory_has_no_room() -> None:
    assert not has_room(Resources(1, memory_gb=16), Resources(8, memory_gb=15.9))


def test_excessive_core_request_is_reported_with_the_largest_node(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ray_worker_slots, "live_nodes", lambda: {node.node_id: node for node in nodes(4, 8)})
    stages = [Sum(Adder()), Left(Adder()), Right(Adder()), Right(Adder(2))]
    wanted = {"left": Resources(8), "right": Resources(64)}
    places = ray_worker_slots.WorkerSlots(stages, 0, wanted)
    assert [places.needed_resources(stage).cpus for stage in stages] == [1, 8, 8, 8]
    (told,) = caplog.messages
    assert "cpus of right 64; the largest node has 8" in told


class TestANode:
    @pytest.fixture
    def acceptance(self, tmp_path: Path) -> NodeAcceptance:
        return NodeAcceptance([Sum(Adder())], Store(tmp_path / "store"))

    def found(self, acceptance: NodeAcceptance, **changes: str) -> NodeFacts:
        found = RayWorker(".").node_facts(acceptance.packages, acceptance.probe)
        return replace(found, versions={**found.versions, **changes})

    def test_ray_node_with_the_same_versions_and_store_is_used(self, acceptance: NodeAcceptance) -> None:
        acceptance.open()
        assert acceptance.refusal(*nodes(4), self.found(acceptance)) == ""

    def test_ray_node_with_different_versions_is_refused(self, acceptance: NodeAcceptance) -> None:
        acceptance.open()
        said = acceptance.refusal(*nodes(4), self.found(acceptance, numpy="1.0"))
        assert said.startswith("node 10.0.0.0 of the Ray cluster is not used: numpy is 1.0 there and ")

    def test_ray_node_with_different_code_is_refused(self, acceptance: NodeAcceptance) -> None:
        acceptance.open()
        said = acceptance.refusal(*nodes(4), self.found(acceptance, **{"the code of tests": "0"}))
        assert "tiny_components" in acceptance.packages  # and all of `tests`, if another test made plugins of it
        assert "the code of tests is 0 there and" in said

    def test_ray_node_with_another_store_is_refused(self, acceptance: NodeAcceptance, tmp_path: Path) -> None:
        assert f"run.store_dir {tmp_path / 'store'} is not the same folder" in acceptance.refusal(
            *nodes(4), self.found(acceptance)
        )

    def test_store_probe_is_removed_after_the_check(self, acceptance: NodeAcceptance) -> None:
        acceptance.open()
        acceptance.close()
        assert not self.found(acceptance).has_store


def test_version_differences_name_packages_missing_on_either_side() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "c": "3"}) == [
        "c is missing there and 3 here",
        "b is 2 there and missing here",
    ]


def test_versions_of_results_contain_the_code_and_not_the_commit() -> None:
    assert "commit" not in versions_to_match()
    assert versions_to_match()["the code of runner"]


def test_versions_of_results_skip_a_missing_package() -> None:
    assert "the code of no_such_package" not in versions_to_match(["no_such_package"])


class TestTheSettings:
    @pytest.mark.parametrize("address", ["ray://head:10001", " "])
    def test_ray_rejects_client_and_blank_addresses(self, address: str) -> None:
        (problem,) = RayCluster(address).check()
        assert f"address: got {address!r}, expected auto, local or HOST:PORT" in problem

    @pytest.mark.parametrize("address", ["me:hunter2@head:6379", "ray://me:hunter2@head:10001"])
    def test_ray_address_with_a_password_is_refused_and_hidden(self, address: str) -> None:
        (problem,) = RayCluster(address).check()
        assert "contains a user name or password" in problem
        assert "hunter2" not in problem

    def test_missing_ray_names_the_install_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runner.engine.executors.ray_cluster.find_spec", lambda _: None)
        (problem,) = RayCluster("auto").check()
        assert "[ray]" in problem

    def test_ray_resources_of_an_unknown_kind_are_rejected(self) -> None:
        (problem,) = RayCluster("auto", {"vektors": Resources(4)}).check()
        assert "resources.vektors" in problem

    def test_ray_address_without_a_cluster_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        skip_without("ray", extra="ray")
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(
            ConfigError, match=f"executor.address=auto, which is {address}: no Ray cluster answers there"
        ):
            list(run_stages([Sum(Adder())], Store(tmp_path), RayCluster("auto")))
