"""Failures of a request to a server, and their meaning: temporary, shared by all requests, or caused by this request.

HttpError         The server answered with an error.
  Redirected      It redirects us to another server.
Unreachable       No connection could be made.
  Refused         No server listens at the address.
  PlainHttp       It speaks HTTP at an address with https://.
  Encrypted       It speaks TLS at an address with http://.
  Untrusted       Its certificate cannot be verified.
    CertificateExpired  It has expired.
Disconnected      The connection broke before the reply was complete.
  BrokenProtocol  The reply is not HTTP.
Malformed         The reply has status 200, but is not what was requested.
  TooLarge        It exceeds the size of any valid reply.
  WebPage         It is a page of a proxy or a login, which no model wrote.
TimeoutError      (built in) The reply did not arrive in time.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from components.json_value import Json
from components.records import ErrorClass
from components.secrets.mask import HIDDEN, current_mask, shorten_masked
from components.text.normalize import whole_characters

_TEMPORARY = (408, 409, 424, 425, 429, 498)
"""Statuses that a later attempt may not have. Servers of Hugging Face send 424 if a generation failed, and Groq sends
498 if its flexible capacity is used up.
"""
_STATUSES_FOR_ALL_REQUESTS = (401, 402, 403, 404, 407)
_RETRY_DELAY = re.compile(r"""['"]retryDelay['"]:\s*['"](\d{1,6}(?:\.\d{1,9})?)s['"]""")
_SHOWN_CHARACTERS = 300
_SHOWN_REPLY_CHARACTERS = 200
_READ_CHARACTERS = 20_000
"""Maximum number of characters to mask. The text is shortened only after masking."""


class HttpError(Exception):
    """A reply with an error status. `body` is the server's message, a string or JSON, and `n_tokens` estimates the
    prompt of the request.
    """

    n_tokens = 0

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body
        self.code = body.get("code") if isinstance(body, dict) else None
        self.headers = {name.lower(): value for name, value in headers.items()}


class Redirected(HttpError):
    """A redirect that we do not follow. The body names both origins."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message, {})


class Unreachable(Exception):
    """Failure to connect to the server."""


class Refused(Unreachable):
    """No server listens at the address."""


class Untrusted(Unreachable):
    """The server's certificate cannot be verified, or does not match the host. A retry does not help."""


class CertificateExpired(Untrusted):
    """The server's certificate has expired. Trusting another authority does not help."""


class PlainHttp(Unreachable):
    """The server speaks HTTP at an address with https://. A retry does not help."""


class Encrypted(Unreachable):
    """The server speaks TLS at an address with http://. A retry does not help."""


class Disconnected(Exception):
    """The connection broke before the reply was complete."""


class BrokenProtocol(Disconnected):
    """The server's reply is not HTTP."""


class Malformed(Exception):
    """A reply with status 200 that is not what was requested.

    `message` is the reply or a description of the error. It is masked, and then shortened.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shorten_masked(message[:_READ_CHARACTERS], _SHOWN_REPLY_CHARACTERS))


class WebPage(Malformed):
    """A page of a proxy or a login in place of a reply."""


class TooLarge(Malformed):
    """A reply that exceeds any valid size. We neither read the rest nor send the request again."""


def is_temporary(error: Exception) -> bool:
    """Return True for failures that may go away: rate limits, server errors, timeouts, lost connections, malformed
    replies.
    """
    if isinstance(error, HttpError):
        is_lasting = _is_quota_used_up(error) or classify_error(error) is ErrorClass.TOO_LONG
        return (error.status in _TEMPORARY or error.status >= 500) and not is_lasting
    if isinstance(error, TooLarge | Untrusted | PlainHttp | Encrypted):
        return False
    return isinstance(error, Unreachable | Disconnected | Malformed | TimeoutError)


def is_too_slow(error: Exception) -> bool:
    """Return True for a timeout on our side, at the server, or at a proxy in between."""
    return classify_error(error) is ErrorClass.TIMEOUT


def is_rate_limit(error: Exception) -> bool:
    """Return True if the account may send no more for now."""
    return classify_error(error) is ErrorClass.RATE_LIMIT


def affects_all_requests(error: Exception) -> bool:
    """Return True if every request would fail equally: a rejected key, an unknown model, a used-up quota, no server."""
    if isinstance(error, HttpError):
        return error.status in _STATUSES_FOR_ALL_REQUESTS or isinstance(error, Redirected) or _is_quota_used_up(error)
    return isinstance(error, Unreachable)


def classify_error(error: Exception) -> ErrorClass:
    """Return the class under which failures are counted."""
    match error:
        case Redirected() | Unreachable() | Disconnected():
            return ErrorClass.CONNECTION
        case HttpError():
            return _status_class(error)
        case Malformed():
            return ErrorClass.MALFORMED
        case TimeoutError():
            return ErrorClass.TIMEOUT
    return ErrorClass.OTHER


def _status_class(error: HttpError) -> ErrorClass:
    if _is_quota_used_up(error):
        return ErrorClass.QUOTA
    asked = _TOKENS_OF_REQUEST.search(_extract_message(error.body)[:_READ_CHARACTERS]) if error.status == 429 else None
    if asked and int(asked[2]) > int(asked[1]):
        return ErrorClass.TOO_LONG
    if error_class := _CLASSES.get(error.status):
        return error_class
    if error.status >= 500:
        return ErrorClass.SERVER
    text = f"{error.code} {_extract_message(error.body)}".lower()
    return ErrorClass.TOO_LONG if any(words in text for words in _TOO_LONG) else ErrorClass.BAD_REQUEST


_CLASSES = {
    401: ErrorClass.ACCESS,
    402: ErrorClass.QUOTA,
    403: ErrorClass.ACCESS,
    404: ErrorClass.UNKNOWN_MODEL,
    407: ErrorClass.ACCESS,
    408: ErrorClass.TIMEOUT,
    413: ErrorClass.TOO_LONG,
    424: ErrorClass.SERVER,
    425: ErrorClass.SERVER,
    429: ErrorClass.RATE_LIMIT,
    498: ErrorClass.RATE_LIMIT,
    504: ErrorClass.TIMEOUT,
    524: ErrorClass.TIMEOUT,
}
_TOO_LONG = (
    "context length", "context_length", "context window", "context size", "too many tokens",
    "exceeds the maximum number of tokens", "range of input length", "`inputs` tokens + `max_new_tokens`",
)  # fmt: skip
"""Parts of messages about a prompt that does not fit: OpenAI's and many others', then Gemini's, Alibaba's, TGI's."""
_TOKENS_OF_REQUEST = re.compile(r"\bLimit:? (\d{1,12})\b.{0,40}?\bRequested:? (\d{1,12})\b")
"""The limit of tokens per minute and the tokens of the request, as OpenAI and Groq state both."""
_LIMITS_PER_MINUTE = ("error-code#token-limit", "error-code#rate-limit")
"""Parts of messages of Alibaba Cloud, whose limits of tokens per minute have the code insufficient_quota."""
_BUDGET_USED_UP = ("budget has been exceeded",)
"""Parts of messages of a router whose budget is used up: LiteLLM's has status 400."""


def format_preview(value: object) -> str:
    """Return the beginning of a reply, or of a part of it, for a message. It is masked before it is cut."""
    if isinstance(value, bytes):
        value = readable_text(value[:_READ_CHARACTERS])
    if current_mask().holds_divided(_parse_events(value[:_READ_CHARACTERS]) if isinstance(value, str) else value):
        return HIDDEN
    try:
        return shorten_masked(whole_characters(str(value)[:_READ_CHARACTERS]), _SHOWN_CHARACTERS)
    except (RecursionError, ValueError):  # too deep, or an integer of thousands of digits
        return f"{type(value).__name__} that cannot be shown"


def readable_text(received: bytes) -> str:
    """Return a body as a reader sees it, in UTF-8, 16 or 32, so that the mask finds a key that it repeats.

    NUL characters are left out: a terminal shows nothing in their place.
    """
    return received.decode(json.detect_encoding(received), errors="replace").replace("\0", "")


def _parse_events(text: str) -> list[Json]:
    """Return the events of a reply that is streamed although we did not ask for that."""
    events = []
    for line in text.splitlines() if "data:" in text else ():
        with suppress(ValueError, RecursionError):  # the last one may be cut
            events.append(json.loads(line.strip().removeprefix("data:")))
    return events


def retry_after_s(error: Exception) -> float:
    """Return the seconds that the server asks us to wait, from a number or a date; 0.0 if it does not ask.

    The result is negative for a date in the past. Gemini asks in the body, as in "retryDelay": "31s".
    """
    value = error.headers.get("retry-after") if isinstance(error, HttpError) else None
    if value is None:
        found = _RETRY_DELAY.search(str(error.body)[:_READ_CHARACTERS]) if isinstance(error, HttpError) else None
        return float(found[1]) if found else 0.0
    try:
        return seconds if isfinite(seconds := float(value)) else 0.0
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (IndexError, OverflowError, TypeError, ValueError):
        return 0.0


def describe_error(error: Exception, secret: str) -> str:
    """Return a short line with the status and the server's message, or with the failure of the connection.

    Servers quote rejected keys, and errors quote addresses. All secrets are masked; `secret` ("" for none) is masked
    even if it is short.
    """
    line = " ".join(whole_characters(_describe_failure(error))[:_READ_CHARACTERS].split())
    return shorten_masked(line.replace(secret, HIDDEN) if secret else line, _SHOWN_CHARACTERS)


def _describe_failure(error: Exception) -> str:
    match error:
        case HttpError(status=407):
            reason = _extract_message(error.body)
            return f"HTTP 407: the proxy refuses the request ({reason}). Check the proxy's user and password."
        case HttpError():
            return f"HTTP {error.status}: {_extract_message(error.body)}"
        case BrokenProtocol():
            return f"the server broke the HTTP protocol: {error}"
        case Unreachable():
            return f"no connection: {error}"
        case Disconnected():
            return f"the connection broke: {error}"
        case TooLarge():
            return f"the reply was too large, so it was not read: {error}"
        case Malformed():
            return f"unexpected reply: {error}"
        case TimeoutError():
            return "no reply within timeout_s"
    return f"{type(error).__name__}: {error}"


def _extract_message(body: object) -> str:
    """Return the message of an error body, which servers put under different names, or else the whole body."""
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return format_preview(body or "empty reply")


def _is_quota_used_up(error: HttpError) -> bool:
    """Return True for OpenAI's 429 of an account without credit, and for a router's budget: waiting does not help."""
    message = _extract_message(error.body).lower() if error.status in (400, 429) else ""
    has_no_credit = error.code == "insufficient_quota" and not any(words in message for words in _LIMITS_PER_MINUTE)
    return has_no_credit or any(words in message for words in _BUDGET_USED_UP)
