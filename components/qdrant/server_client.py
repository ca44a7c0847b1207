"""A client of a Qdrant server, whose errors become one message with advice; see https://qdrant.tech/documentation/."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING

import numpy as np

from components.errors import ComponentError
from components.loading import loading
from components.openai_server.access import read_api_key
from components.qdrant.reply_guards import guard
from components.secrets.mask import HIDDEN, shorten_masked

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

IN_PROCESS = ":memory:"
"""Selects the client's trial mode, whose collections end with the process."""

_SHOWN_CHARACTERS = 300


@contextmanager
def connect(base_url: str, api_key_env: str, timeout_s: float, settings: str) -> "Iterator[QdrantClient]":
    """Yield a client. Errors inside become a ComponentError with advice.

    `settings` is the configuration group of the fields, for messages that name them.
    """
    with loading():
        client = _client(base_url, api_key_env, timeout_s, os.getpid())
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    try:
        yield client
    except ApiException as error:
        if isinstance(error, UnexpectedResponse) and error.status_code in (
            HTTPStatus.UNAUTHORIZED,
            HTTPStatus.FORBIDDEN,
        ):
            problem, remedy = "rejects the key", f"Set {settings}.api_key_env to the name of the variable that holds it"
        elif isinstance(error, ResponseHandlingException):
            problem = f"does not answer ({_one_line(error.source)})"
            remedy = "Start it (docker run -p 6333:6333 qdrant/qdrant), or set its address."
        else:
            problem, remedy = f"rejects the request ({_one_line(error)})", "See its log."
        message = f"{settings}.base_url: the Qdrant server at {base_url} {problem}. {remedy}"
        key = read_api_key(api_key_env)
        raise ComponentError(message.replace(key, HIDDEN) if key else message) from None


@contextmanager
def opened_folder(path: str) -> "Iterator[QdrantClient]":
    """Yield a client in local mode. One process at a time can open the folder, so the client is closed afterwards.

    Raises ComponentError if the folder cannot be opened.
    """
    from qdrant_client import QdrantClient

    try:
        client = QdrantClient(path=path)
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        raise ComponentError(f"retriever.base_url: cannot open the folder {path} ({_one_line(error)})") from None
    try:
        yield client
    finally:
        client.close()


@cache
def _client(base_url: str, api_key_env: str, timeout_s: float, process: int) -> "QdrantClient":
    """Return the client for all searches of a process. Connections do not survive a fork."""
    from qdrant_client import QdrantClient

    if base_url == IN_PROCESS:
        return QdrantClient(IN_PROCESS)
    return QdrantClient(
        url=base_url,
        api_key=read_api_key(api_key_env) or None,
        timeout=int(np.ceil(timeout_s)),
        check_compatibility=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [guard]},
    )


def _one_line(error: Exception) -> str:
    return shorten_masked(" ".join(str(error).split()), _SHOWN_CHARACTERS)
