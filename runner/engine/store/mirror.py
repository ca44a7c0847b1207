"""The seam at which a folder's files are those of others too, who cannot see the folder."""

from typing import Protocol


class Mirror(Protocol):
    """Of one folder. Both ways may raise StoreError."""

    def bring(self) -> None:
        """Puts into the folder what others have sent, as of some seconds ago or later."""

    def send(self) -> None:
        """Says that something was added to the folder: it is sent within some seconds."""

    def send_now(self) -> None:
        """Returns when all is sent."""


class NoMirror:
    """For a folder that all see who share it."""

    def bring(self) -> None: ...

    def send(self) -> None: ...

    def send_now(self) -> None: ...


NO_MIRROR = NoMirror()
