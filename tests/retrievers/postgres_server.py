"""A PostgreSQL server with pgvector, on 127.0.0.1 and in a temporary folder.

Its programs belong to the system (Debian: postgresql, postgresql-NN-pgvector), or to the package `pgserver`.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PASSWORD = "n0t-a-word-of-any-text"
_START_S = 30


def programs() -> Path | None:
    """Return the folder of the programs of a PostgreSQL that has pgvector; None if none is installed."""
    system = [
        (control.parents[1].name, Path("/usr/lib/postgresql") / control.parents[1].name / "bin")
        for control in Path("/usr/share/postgresql").glob("*/extension/vector.control")
    ]
    if system:
        return max(system)[1]
    package = find_spec("pgserver")
    places = package.submodule_search_locations or [] if package else []
    own = [Path(place) / "pginstall" for place in places]
    with_vector = [place / "bin" for place in own if (place / "share/postgresql/extension/vector.control").is_file()]
    return with_vector[0] if with_vector else None


@contextmanager
def postgres_server(binaries: Path) -> Iterator[str]:
    """Start a server; yield the connection string of its superuser. It refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="pgvector-test-", dir="/tmp"))
    user = _other_user() if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
        binaries = _readable(binaries, folder)
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    data, port = folder / "data", _free_port()
    try:
        options = ["-D", str(data), "-U", "tester", "-A", "scram-sha-256", "--pwfile", str(secret), "-N", "-E", "UTF8"]
        subprocess.run([binaries / "initdb", *options], user=user, cwd=folder, check=True, capture_output=True)
        settings = ["-p", str(port), "-k", str(folder), "-h", "127.0.0.1", "-c", "fsync=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", str(data), *settings], user=user, cwd=folder, stdout=log, stderr=log
            )
        try:
            _wait_for(port, server, folder / "log")
            yield f"postgresql://tester:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=_START_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user() -> str:
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"


def _readable(binaries: Path, folder: Path) -> Path:
    """Return programs that another user can read: a copy of a package's programs, whose environment may be private."""
    if binaries.is_relative_to("/usr"):
        return binaries
    package = binaries.parents[1]
    shutil.copytree(binaries.parent, folder / package.name / binaries.parent.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return folder / package.name / binaries.parent.name / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    limit = time.monotonic() + _START_S
    while time.monotonic() < limit and server.poll() is None:
        if "ready to accept connections" in log.read_text(errors="replace"):
            return
        time.sleep(0.05)
    raise AssertionError(f"no server at port {port}: {log.read_text(errors='replace')}")
