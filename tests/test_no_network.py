import socket

import pytest


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_connections_to_other_machines_are_refused(method: str) -> None:
    with socket.socket() as client, pytest.raises(PermissionError, match=r"192\.0\.2\.1"):
        getattr(client, method)(("192.0.2.1", 80))


def test_host_names_are_not_looked_up() -> None:
    with pytest.raises(PermissionError, match=r"example\.org"):
        socket.create_connection(("example.org", 80))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_connections_are_allowed(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((host, port)) as client:
            assert client.getpeername()[1] == port
