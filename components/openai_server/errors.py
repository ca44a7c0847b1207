"""What the OpenAI client's errors mean: worth a retry, shared by every request, or the fault of this one alone."""

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

_TEMPORARY = (408, 409, 429)
_FOR_ALL = (401, 402, 403, 404)
_SHOWN_CHARACTERS = 300


class Malformed(Exception):
    """A reply with status 200 that is not a completion."""


def is_temporary(error: Exception) -> bool:
    """True for what may go away: rate limits, server errors, timeouts, lost connections, malformed replies."""
    if _is_malformed(error):
        return True
    if status := _status(error):
        return (status in _TEMPORARY or status >= 500) and not _is_quota_used_up(error)
    return _is_timeout(error) or _is_connection(error)


def is_for_all(error: Exception) -> bool:
    """True if every request would fail the same way: a refused key, an unknown model, no money left, no server."""
    return _status(error) in _FOR_ALL or _is_quota_used_up(error) or _is_unreachable(error)


def retry_after_s(error: Exception) -> float | None:
    """Seconds that the server asks us to wait, given as a number or a date (negative if it is past); None if it does
    not say.
    """
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after") if response is not None else None
    if value is None:
        return None
    try:
        return seconds if isfinite(seconds := float(value)) else None
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return None


def message_of(error: Exception, secret: str) -> str:
    """One short line: the status and what the server said, or what went wrong on the way.

    Servers quote the key that they refuse, so `secret` ("" for none) is masked.
    """
    line = " ".join(_story(error).split())
    return (line.replace(secret, "***") if secret else line)[:_SHOWN_CHARACTERS]


def _story(error: Exception) -> str:
    if _is_malformed(error):
        return f"a reply that is no completion: {error}"
    if status := _status(error):
        return f"HTTP {status}: {_said(getattr(error, 'body', None))}"
    if _is_unreachable(error) or (_is_connection(error) and not _is_timeout(error)):
        return f"no connection: {error.__cause__ or error}"
    if _is_timeout(error):
        return "no reply within timeout_s"
    return f"{type(error).__name__}: {error}"


def _said(body: Any) -> str:
    """The message in an error's body, which servers put under different names; otherwise the whole body."""
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return str(body or "without a word")


def _status(error: Exception) -> int:
    return int(getattr(error, "status_code", 0) or 0)


def _is_quota_used_up(error: Exception) -> bool:
    """OpenAI answers 429 to an account that has run out of money, and waiting does not help."""
    return getattr(error, "code", None) == "insufficient_quota"


def _is_timeout(error: Exception) -> bool:
    from openai import APITimeoutError

    return isinstance(error, TimeoutError | APITimeoutError)


def _is_connection(error: Exception) -> bool:
    from openai import APIConnectionError

    return isinstance(error, APIConnectionError)


def _is_unreachable(error: Exception) -> bool:
    """Compared by name, because openai 2 and 3 are built on different packages (httpx, httpx2) with the same names."""
    return _is_connection(error) and type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _is_malformed(error: Exception) -> bool:
    from openai import APIResponseValidationError

    return isinstance(error, Malformed | APIResponseValidationError | json.JSONDecodeError | UnicodeDecodeError)
