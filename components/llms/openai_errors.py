"""What the errors of the OpenAI client mean: worth another try, the same for every request, or of this one alone."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_TEMPORARY = (408, 409, 429)
_FOR_ALL = (401, 403, 404)
_SHOWN_CHARACTERS = 300


class Malformed(Exception):
    """A reply with status 200 that is no completion."""


def is_temporary(error: Exception) -> bool:
    """True for what may go away: rate limits, server errors, timeouts, lost connections, malformed replies."""
    status = _status(error)
    return status in _TEMPORARY or status >= 500 if status else is_outage(error) or _is_malformed(error)


def is_outage(error: Exception) -> bool:
    """True if no reply came at all."""
    from openai import APIConnectionError

    return isinstance(error, APIConnectionError)


def is_for_all(error: Exception) -> bool:
    """True if every request would fail alike: a refused key, an unknown model."""
    return _status(error) in _FOR_ALL


def retry_after_s(error: Exception) -> float | None:
    """Seconds that the server asks to wait, by a number or a date; None if it does not say."""
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after") if response is not None else None
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def message_of(error: Exception) -> str:
    """One line: the status and what the server said, or what went wrong on the way."""
    from openai import APITimeoutError

    if isinstance(error, APITimeoutError):
        return "no reply in time"
    if is_outage(error):
        cause: Any = error.__cause__
        return f"no connection: {_one_line(str(cause or error))}"
    status = _status(error)
    if status:
        body: Any = getattr(error, "body", None)
        said = body.get("message") if isinstance(body, dict) else None
        return f"HTTP {status}: {_one_line(str(said or error))}"
    if _is_malformed(error):
        return f"a reply that is no completion: {_one_line(str(error))}"
    return f"{type(error).__name__}: {_one_line(str(error))}"


def _is_malformed(error: Exception) -> bool:
    from openai import APIResponseValidationError

    return isinstance(error, Malformed | APIResponseValidationError | ValueError)


def _status(error: Exception) -> int:
    return int(getattr(error, "status_code", 0) or 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_SHOWN_CHARACTERS]
