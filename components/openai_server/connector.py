"""Connections that are used again, but never with bytes on them that nobody asked for.

HTTP tells answers apart by their order alone. A server or a proxy that sends an answer twice, or sends one after its
request was given up, would have it taken for the answer to the next request on that connection.
"""

from typing import TYPE_CHECKING
from weakref import WeakSet

from aiohttp import ClientRequest, ClientTimeout, TCPConnector
from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


class CleanConnector(TCPConnector):
    """Closes a kept connection on which something arrived between two requests, and opens another."""

    def __init__(self, *, limit: int, ssl: "bool | SSLContext") -> None:
        """See `aiohttp.TCPConnector`."""
        super().__init__(limit=limit, ssl=ssl)
        self._used: WeakSet[ResponseHandler] = WeakSet()

    async def connect(self, req: ClientRequest, traces: "list[Trace]", timeout: ClientTimeout) -> "Connection":
        """See `aiohttp.BaseConnector.connect`."""
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol is None or protocol not in self._used or not protocol.should_close:
                break
            connection.close()
        if protocol is not None:
            self._used.add(protocol)
        return connection
