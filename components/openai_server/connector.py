"""Reused connections without leftover bytes from earlier requests.

HTTP matches replies to requests by order alone. If a server or proxy repeats a reply, or sends one after its request
was abandoned, we would take it for the reply to the next request on that connection. We cannot detect a copy that
arrives only after the next request was sent.

A server that closes idle connections costs no attempt either: we notice the closed connection before sending.
"""

import select
from asyncio import BaseTransport
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientRequest, ClientTimeout, TCPConnector
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


def clean_connector(ssl: "bool | SSLContext") -> "TCPConnector":
    """Return a connector without a limit on connections.

    Before it reuses a connection, it checks for unread bytes and for the end of the stream. If it finds either, it
    closes the connection and opens a new one.
    """
    from aiohttp import TCPConnector

    used: WeakSet[ResponseHandler] = WeakSet()

    class CleanConnector(TCPConnector):
        async def connect(self, req: "ClientRequest", traces: "list[Trace]", timeout: "ClientTimeout") -> "Connection":
            while True:
                connection = await super().connect(req, traces, timeout)
                protocol = connection.protocol
                if protocol is None or protocol not in used:
                    break
                if not protocol.should_close and not _has_unread_bytes(protocol.transport):
                    break
                connection.close()
            if protocol is not None:
                used.add(protocol)
            return connection

    return CleanConnector(limit=0, ssl=ssl)


def _has_unread_bytes(transport: BaseTransport | None) -> bool:
    """Return True if the system holds unread bytes for the connection, or its end."""
    socket = transport.get_extra_info("socket") if transport else None
    if socket is None or socket.fileno() < 0:
        return False
    if not hasattr(select, "poll"):  # Windows, where `select` takes any socket
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
