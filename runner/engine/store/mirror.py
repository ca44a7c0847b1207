"""Protocol that synchronizes a local folder with processes that do not share its file system."""

from typing import Protocol


class Mirror(Protocol):
    """Synchronization of one folder. All methods may raise StoreError."""

    def bring(self) -> None:
        """Download files that others sent. Files of the last few seconds may be missing."""

    def send(self) -> None:
        """Schedule the upload of new files. They are sent within a few seconds."""

    def send_now(self) -> None:
        """Upload all new files and return when all are sent."""


class NoMirror:
    """Mirror of a folder that all processes share: it has nothing to do."""

    def bring(self) -> None: ...

    def send(self) -> None: ...

    def send_now(self) -> None: ...


NO_MIRROR = NoMirror()
