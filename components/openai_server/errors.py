"""How a request to a server may fail, and what that means: worth a retry, shared by every request, or the fault of this
one alone.

    HttpError       the server answered with an error
      Redirected    it sends us to another server
    Unreachable     no connection could be made
      Refused       nobody listens there
      Untrusted     its certificate is not one that we trust
    Disconnected    the connection broke before the reply was whole
    Malformed       the reply, of status 200, is not what was asked for
      TooLarge      it is larger than any answer
    TimeoutError    (Python's own) it did not come in time
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from components.records import ErrorClass
from components.secrets.mask import HIDDEN, shortened
from components.text.normalize import whole_characters

_TEMPORARY = (408, 409, 429)
_FOR_ALL = (401, 402, 403, 404, 407)
_SHOWN_CHARACTERS = 300
_SHOWN_OF_REPLY = 200
_READ_CHARACTERS = 20_000
"""Of a text that is masked before it is cut."""


class HttpError(Exception):
    """A reply with a status that says that something is wrong; `body` is what the server said, a text or JSON."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body
        self.code = body.get("code") if isinstance(body, dict) else None
        self.headers = {name.lower(): value for name, value in headers.items()}


class Redirected(HttpError):
    """A redirect that is not followed; the body names both origins."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message, {})


class Unreachable(Exception):
    """No connection to the server could be made."""


class Refused(Unreachable):
    """Nobody listens at the address."""


class Untrusted(Unreachable):
    """The server's certificate cannot be verified, or is not that of the host. Asking again does not help."""


class Disconnected(Exception):
    """The connection broke before the reply was whole."""


class BrokenProtocol(Disconnected):
    """The server sent something that is not HTTP."""


class Malformed(Exception):
    """A reply with status 200 that is not a completion. `said` is the reply or what is wrong with it: it is masked, and
    then cut.
    """

    def __init__(self, said: str) -> None:
        super().__init__(shortened(said[:_READ_CHARACTERS], _SHOWN_OF_REPLY))


class TooLarge(Malformed):
    """A reply that is larger than what was asked for can be. It is not read to its end, and not asked for again."""


def is_temporary(error: Exception) -> bool:
    """True for what may go away: rate limits, server errors, timeouts, lost connections, malformed replies."""
    if isinstance(error, HttpError):
        return (error.status in _TEMPORARY or error.status >= 500) and not _is_quota_used_up(error)
    if isinstance(error, TooLarge | Untrusted):
        return False
    return isinstance(error, Unreachable | Disconnected | Malformed | TimeoutError)


def is_too_slow(error: Exception) -> bool:
    """True if no reply came in time, whoever gave up waiting: this side, the server, or a proxy between them."""
    return class_of(error) is ErrorClass.TIMEOUT


def is_for_all(error: Exception) -> bool:
    """True if every request would fail the same way: a refused key, an unknown model, no money left, no server."""
    if isinstance(error, HttpError):
        return error.status in _FOR_ALL or isinstance(error, Redirected) or _is_quota_used_up(error)
    return isinstance(error, Unreachable)


def class_of(error: Exception) -> ErrorClass:
    """What kind of failure it is, for whoever counts them."""
    match error:
        case Redirected() | Unreachable() | Disconnected():
            return ErrorClass.CONNECTION
        case HttpError():
            return _class_of_status(error)
        case Malformed():
            return ErrorClass.MALFORMED
        case TimeoutError():
            return ErrorClass.TIMEOUT
    return ErrorClass.OTHER


def _class_of_status(error: HttpError) -> ErrorClass:
    if _is_quota_used_up(error):
        return ErrorClass.QUOTA
    if known := _CLASSES.get(error.status):
        return known
    if error.status >= 500:
        return ErrorClass.SERVER
    said = f"{error.code} {_said(error.body)}".lower()
    return ErrorClass.TOO_LONG if any(words in said for words in _TOO_LONG) else ErrorClass.BAD_REQUEST


_CLASSES = {
    401: ErrorClass.ACCESS,
    402: ErrorClass.QUOTA,
    403: ErrorClass.ACCESS,
    404: ErrorClass.UNKNOWN_MODEL,
    407: ErrorClass.ACCESS,
    408: ErrorClass.TIMEOUT,
    413: ErrorClass.TOO_LONG,
    429: ErrorClass.RATE_LIMIT,
    504: ErrorClass.TIMEOUT,
    524: ErrorClass.TIMEOUT,
}
_TOO_LONG = ("context length", "context_length", "context window", "context size", "too many tokens")
"""What servers say of a prompt that does not fit; only OpenAI's has a code for it."""


def shown(value: Any) -> str:
    """The beginning of a reply, or of a part of one, for a message: masked, and then cut."""
    if isinstance(value, bytes):
        return shortened(value[:_READ_CHARACTERS].decode(errors="replace"), _SHOWN_CHARACTERS)
    try:
        return shortened(whole_characters(str(value)[:_READ_CHARACTERS]), _SHOWN_CHARACTERS)
    except (RecursionError, ValueError):  # too deep, or an integer of thousands of digits
        return f"{type(value).__name__} that cannot be shown"


def retry_after_s(error: Exception) -> float | None:
    """Seconds that the server asks us to wait, given as a number or a date (negative if it is past); None if it does
    not say.
    """
    value = error.headers.get("retry-after") if isinstance(error, HttpError) else None
    if value is None:
        return None
    try:
        return seconds if isfinite(seconds := float(value)) else None
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (IndexError, OverflowError, TypeError, ValueError):
        return None


def message_of(error: Exception, secret: str) -> str:
    """Return one short line: the status and the server's message, or the failure on the way.

    Servers quote the key that they refuse, and errors quote addresses: all secrets are masked, and `secret` ("" for
    none) however short it is.
    """
    line = " ".join(whole_characters(_story(error))[:_READ_CHARACTERS].split())
    return shortened(line.replace(secret, HIDDEN) if secret else line, _SHOWN_CHARACTERS)


def _story(error: Exception) -> str:
    match error:
        case HttpError(status=407):
            return f"HTTP 407: the proxy refuses the request ({_said(error.body)}); check the proxy's user and password"
        case HttpError():
            return f"HTTP {error.status}: {_said(error.body)}"
        case BrokenProtocol():
            return f"the server broke the HTTP protocol: {error}"
        case Unreachable() | Disconnected():
            return f"no connection: {error}"
        case TooLarge():
            return f"a reply that is too large, and was not read: {error}"
        case Malformed():
            return f"a reply that is no completion: {error}"
        case TimeoutError():
            return "no reply within timeout_s"
    return f"{type(error).__name__}: {error}"


def _said(body: Any) -> str:
    """The message in an error's body, which servers put under different names; otherwise the whole body."""
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return shown(body or "without a word")


def _is_quota_used_up(error: HttpError) -> bool:
    """OpenAI answers 429 to an account that has run out of money, and waiting does not help."""
    return error.code == "insufficient_quota"
