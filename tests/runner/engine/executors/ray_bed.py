"""A Ray cluster for tests on this machine. Each node is in a network namespace where that can be made (Linux,
root), so that it has an address of its own; elsewhere all nodes have the address of the machine itself.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[4]

TOKEN = "5ec2e7" * 10 + "0123"
"""Which all of the cluster must know, and which must stand nowhere."""

SECRETS = {"RAY_AUTH_TOKEN": TOKEN, "OPENAI_API_KEY": "sk-of-the-tests-of-ray"}

NODE = "RAG_GRID_TEST_NODE"
"""The environment variable in which a process of the cluster finds the name of its node."""

_BED = "RAG_GRID_TEST_BED"
_HEAD = "head"
_PORT = 6399
_QUICK = {
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_enable_worker_prestart": "false",
    "RAY_prestart_worker_first_driver": "false",
}
"""A node that was killed is noticed within two seconds, not fifteen; no processes are started ahead of their work."""


class Bed:
    """The nodes by name, "head" and others, each with a few cores. `close` ends all processes."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rg-ray-"))  # short: sockets are in there, whose paths are limited
        self._namespaces: dict[str, str] = {}

    @property
    def address(self) -> str:
        """The address of the cluster."""
        return f"{self._host(_HEAD)}:{_PORT}"

    @property
    def logs(self) -> Path:
        """All that Ray has written."""
        return self.folder / "ray"

    def start(self, name: str, n_cores: int, environment: Mapping[str, str] | None = None) -> None:
        """Start a node, and return when it is up. The first node must be the head."""
        self._lay_cables()
        options = [f"--node-ip-address={self._host(name)}", f"--num-cpus={n_cores}", "--object-store-memory=80000000"]
        role = [f"--address={self.address}", "--include-log-monitor=false"]  # no worker there prints anything
        if name == _HEAD:
            role = ["--head", f"--port={_PORT}", "--include-dashboard=false", f"--temp-dir={self.logs}"]
        ray = Path(sys.executable).with_name("ray")
        done = subprocess.run(
            [*self._inside(name), str(ray), "start", *role, *options],
            cwd=REPOSITORY,
            env=self._environment(name) | dict(environment or {}),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def kill(self, name: str) -> None:
        """Simulate a power failure of a node: its raylet is killed, and with that Ray's own processes there."""
        for pid in self.processes(name):
            if b"raylet/raylet" in _read(pid, "cmdline"):
                os.kill(pid, signal.SIGKILL)

    def command(self, *arguments: str) -> "subprocess.Popen[str]":
        """Starts a command on the head, by our Python."""
        environment = self._environment(_HEAD) | {"RAY_ADDRESS": self.address}
        return subprocess.Popen(
            [*self._inside(_HEAD), sys.executable, *arguments],
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def processes(self, name: str | None = None) -> list[int]:
        """Return the processes of one node or of all, including the commands."""
        marks = [f"{_BED}={self.folder}".encode(), *([f"{NODE}={name}".encode()] if name else [])]
        pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        return [pid for pid in pids if set(marks) <= set(_read(pid, "environ").split(b"\0"))]

    @property
    def workers(self) -> list[int]:
        """Return the processes of the cluster that compute stages."""
        return [pid for pid in self.processes() if b"ray::RayWorker" in _read(pid, "cmdline")]

    def close(self) -> None:
        """End all processes, whatever their state."""
        while pids := self.processes():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for namespace in self._namespaces.values():
            subprocess.run(["ip", "netns", "delete", namespace], check=True)
        shutil.rmtree(self.folder)

    def _lay_cables(self) -> None:
        """Two namespaces, for the head and one other node."""
        if self._namespaces or not _can_make_namespaces():
            return
        names = {name: f"{self.folder.name}-{name}" for name in (_HEAD, "other")}
        ends = {name: f"rg{os.getpid()}{name[0]}" for name in names}
        for name, namespace in names.items():
            _ip("netns", "add", namespace)
            self._namespaces[name] = namespace
        _ip(*f"link add {ends[_HEAD]} netns {names[_HEAD]}".split(), *f"type veth peer name {ends['other']}".split(),
            "netns", names["other"])  # fmt: skip
        for name, namespace in names.items():
            _ip("-n", namespace, "address", "add", f"{self._host(name)}/24", "dev", ends[name])
            for device in ("lo", ends[name]):
                _ip("-n", namespace, "link", "set", device, "up")

    def _host(self, name: str) -> str:
        if not self._namespaces:
            return "127.0.0.1"
        return "10.77.0.1" if name == _HEAD else "10.77.0.2"

    def _inside(self, name: str) -> Sequence[str]:
        namespace = self._namespaces.get(name) or self._namespaces.get("other")
        return ["ip", "netns", "exec", namespace] if namespace else []

    def _environment(self, name: str) -> dict[str, str]:
        others = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        own = {
            _BED: str(self.folder),
            NODE: name,
            "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/tests/top_level",
            "RAY_AUTH_MODE": "token",
        }
        return others | own | _QUICK | SECRETS | {"RAY_USAGE_STATS_ENABLED": "0"}


def bed() -> Iterator[Bed]:
    """End the processes that a test left behind. For a fixture."""
    made = Bed()
    try:
        yield made
    finally:
        made.close()


def _can_make_namespaces() -> bool:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("ip"):
        return False
    name = f"rg-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    return made and subprocess.run(["ip", "netns", "delete", name], capture_output=True).returncode == 0


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def _read(pid: int, file: str) -> bytes:
    """Return the system's description of a process; nothing for one that ended or is not ours."""
    try:
        return (Path("/proc") / str(pid) / file).read_bytes()
    except OSError:
        return b""
