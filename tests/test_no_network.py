import socket

import pytest


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 443)])
def test_other_machines_are_out_of_reach(method: str, address: tuple[str, int]) -> None:
    with socket.socket() as client, pytest.raises(PermissionError, match=address[0]):
        getattr(client, method)(address)


def test_this_machine_is_in_reach() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
