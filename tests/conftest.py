"""What holds for every test: no sockets beyond this machine, one thread per process (pytest-xdist has the processes)."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import ipaddress
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest


def _is_local(address: object) -> bool:
    """True for Unix sockets and for loopback."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _only_local(
    connect: Callable[[socket.socket, Any], Any],
) -> Callable[[socket.socket, Any], Any]:
    def checked(self: socket.socket, address: object) -> Any:
        if not _is_local(address):
            raise PermissionError(f"a test tried to connect to {address}: tests reach no machine but this one")
        return connect(self, address)

    return checked


@pytest.fixture(scope="session", autouse=True)
def no_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks connections to other machines, unless `-m network` asks for the tests that need them."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr != "network":
            patch.setattr(socket.socket, "connect", _only_local(socket.socket.connect))
            patch.setattr(socket.socket, "connect_ex", _only_local(socket.socket.connect_ex))
        yield
