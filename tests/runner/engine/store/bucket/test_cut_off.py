"""A host that is cut off while it holds a lock: in a network namespace, whose link goes down and comes up again."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.engine.store.bucket.objects import Objects
from tests.buckets import Bucket, served_bucket
from tests.extras import skip_without
from tests.runner.engine.store.bucket.cut_off_host import KEY, KIND, opened, written
from tests.runner.sweeping import REPOSITORY

LEASE_S = 2.0


@dataclass(frozen=True)
class Link:
    """A link to a network namespace. `address` is the address on this side."""

    namespace: str
    device: str
    address: str

    def set(self, state: str) -> None:
        """Up or down."""
        ip("link", "set", self.device, state)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def link() -> Iterator[Link]:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root, and the command ip")
    number = os.getpid() % 250 + 1
    here = Link(f"rag-grid-{os.getpid()}", f"rg{os.getpid()}", f"10.231.{number}.1")
    try:
        ip("netns", "add", here.namespace)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
    try:
        ip("link", "add", here.device, "type", "veth", "peer", "name", "eth0", "netns", here.namespace)
        ip("addr", "add", f"{here.address}/24", "dev", here.device)
        here.set("up")
        ip("-n", here.namespace, "addr", "add", f"10.231.{number}.2/24", "dev", "eth0")
        ip("-n", here.namespace, "link", "set", "eth0", "up")
        yield here
    finally:
        ip("netns", "del", here.namespace)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    skip_without("obstore", "moto", extra="s3")
    with served_bucket("0.0.0.0") as bucket:
        for name, value in bucket.environment.items():
            monkeypatch.setenv(name, value)
        yield bucket


def test_host_cut_off_from_the_bucket_is_replaced(link: Link, bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.address("cut-off")
    command = [sys.executable, "-m", "tests.runner.engine.store.bucket.cut_off_host", address]
    with subprocess.Popen(
        ["ip", "netns", "exec", link.namespace, *command, str(tmp_path / "there"), str(LEASE_S)],
        env={**os.environ, "AWS_ENDPOINT_URL": bucket.endpoint.replace("127.0.0.1", link.address)},
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as cut_off:
        try:
            assert cut_off.stdin is not None
            assert cut_off.stdout is not None
            assert cut_off.stdout.readline() == "held\n"
            link.set("down")
            store = opened(address, tmp_path / "here", LEASE_S)
            began = time.monotonic()
            with store.lock(KIND, KEY):
                assert LEASE_S < time.monotonic() - began < LEASE_S + 5
                cut_off.stdin.write("go on\n")
                cut_off.stdin.flush()
                assert written(store, 2.0) == (2.0, True)
            up = threading.Timer(0.5, link.set, ["up"])
            up.start()
            assert cut_off.stdout.readline() == "2.0 False\n"
            up.join()
            assert cut_off.wait(30) == 0
        finally:
            cut_off.kill()
    assert [each.path for each in Objects(address).list_objects("entries")] == [f"entries/{KIND}/ab/{KEY}"]
    assert Objects(address).list_objects("locks") == []
