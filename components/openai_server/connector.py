"""Connections that are used again, but never with bytes on them that nobody asked for.

HTTP tells answers apart by their order alone. A server or a proxy that sends an answer twice, or sends one after its
request was given up, would have it taken for the answer to the next request on that connection. We cannot detect a copy
that arrives only after the next request was sent.

A server that closes connections between requests costs no attempt either: its end is seen before a request is sent.
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
    """Return a connector without a limit of connections. It closes a kept connection on which something arrived between
    two requests, its end included, and opens another.
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
    """True if the system has bytes that the event loop has not read, or the end of the connection."""
    socket = transport.get_extra_info("socket") if transport else None
    if socket is None or socket.fileno() < 0:
        return False
    if not hasattr(select, "poll"):  # Windows, where `select` takes any socket
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
