"""A server of OpenAI's chat and embeddings API that costs next to nothing, misbehaves on request, and keeps a log.

with serving(Behaviour(delay_s=0.2)) as endpoint:
    OpenAIChat("m", base_url=endpoint.url, api_key_env="")
    endpoint.log()

It runs in a separate process, on asyncio's protocols only. A client measured against it waits for the network and the
delay, not for the server.
"""

import asyncio
import json
import multiprocessing
import random
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection

from components.json_value import Json
from components.llms.rehearsal.model import write_reply
from components.records import Message

_FLAWED_SHARE = 0.1


class Chaos(StrEnum):
    """The ways in which a request may fail."""

    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    DROP = "drop"
    HANG = "hang"
    GARBAGE = "garbage"
    CUT = "cut"


@dataclass(frozen=True)
class Behaviour:
    """The delay `delay_s` before each answer, and the share `chaos` of requests that fail in one of the ways of
    `kinds`.

    A hang lasts `hang_s` and is followed by the answer. Rate limits come in storms: for `storm_s` after a drawn one,
    every request is rejected, with Retry-After unless `retry_after_s` is None. With `rehearses`, the model plays the
    roles of `python -m runner.generate`, with flaws in a tenth of its replies. With `has_grades`, a model named m80a
    answers 80 % of the questions "What about number 7?" with "word 7", and the others wrong: see `graded_answer`.
    """

    delay_s: float = 0.0
    chaos: float = 0.0
    kinds: tuple[Chaos, ...] = tuple(Chaos)
    seed: int = 0
    hang_s: float = 3.0
    storm_s: float = 0.05
    retry_after_s: float | None = None
    rehearses: bool = False
    has_grades: bool = False


@dataclass
class Asked:
    """One request as the server saw it: its time (seconds on the server's clock), its prompt and its fate.

    `status` is the status of the reply, or 0 if none came. `delivered` is true if a complete sound answer was sent on
    an open connection, for which a provider would charge.
    """

    at: float
    prompt: str
    status: int = 0
    fate: str = "answered"
    delivered: bool = False


@dataclass(frozen=True)
class Endpoint:
    """A running server with its address."""

    url: str

    def log(self) -> list[Asked]:
        """Return every request since the start, in order of arrival."""
        with urllib.request.urlopen(f"{self.url}/log") as reply:
            return [Asked(**line) for line in json.loads(reply.read())]


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Endpoint]:
    """Run a separate server on a free port of this machine within the context."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(behaviour, there), daemon=True)
    process.start()
    try:
        yield Endpoint(f"http://127.0.0.1:{here.recv()}/v1")
    finally:
        process.kill()
        process.join()


def answer_to(prompt: str) -> str:
    """Return the reply of this server's model."""
    return f"The answer to {prompt}"


def graded_answer(model: str, prompt: str) -> str:
    """Return the reply of a model whose name begins with m and two digits, its percentage of right answers."""
    number = prompt.rpartition("number ")[2].split("?")[0]
    is_right = random.Random(f"{model} {number}").random() < int(model[1:3]) / 100
    return f"word {number}" if is_right else "something else"


def _rehearse(request: dict[str, Json]) -> str:
    messages = [Message(own["role"], own["content"]) for own in request["messages"]]
    return write_reply(messages, flawed_share=_FLAWED_SHARE)


def _serve(behaviour: Behaviour, started: Connection) -> None:
    asyncio.run(_run(_State(behaviour), started))


async def _run(state: "_State", started: Connection) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Exchange(state), "127.0.0.1", 0, backlog=4096)
    started.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


@dataclass
class _State:
    behaviour: Behaviour
    log: list[Asked] = field(default_factory=list)
    storm_until: float = 0.0

    def __post_init__(self) -> None:
        self._random = random.Random(self.behaviour.seed)

    def fate(self) -> Chaos | None:
        """Return the failure of the current request; None for an answer."""
        now = time.monotonic()
        if now < self.storm_until:
            return Chaos.RATE_LIMIT
        if self._random.random() >= self.behaviour.chaos:
            return None
        kind = self._random.choice(self.behaviour.kinds)
        if kind is Chaos.RATE_LIMIT:
            self.storm_until = now + self.behaviour.storm_s
        return kind


class _Exchange(asyncio.Protocol):
    """One connection, whose requests arrive one after another."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        n_body = _content_length(head)
        if len(rest) >= n_body:
            self._received = rest[n_body:]
            self._begin(head, rest[:n_body])

    def _begin(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._send(200, json.dumps([asdict(asked) for asked in self._state.log]).encode())
            return
        request = json.loads(body)
        asked = Asked(time.monotonic(), _prompt(request))
        self._state.log.append(asked)
        behaviour, fate = self._state.behaviour, self._state.fate()
        asked.fate = fate or asked.fate
        delay_s = behaviour.hang_s if fate is Chaos.HANG else behaviour.delay_s
        asyncio.get_running_loop().call_later(delay_s, self._end, request, asked, fate)

    def _end(self, request: dict[str, Json], asked: Asked, fate: Chaos | None) -> None:
        if self._transport is None or self._transport.is_closing():  # the client did not wait
            return
        if fate in (None, Chaos.HANG):
            self._send(200, _sound_reply(request, self._state.behaviour))
            asked.status, asked.delivered = 200, self._transport.get_write_buffer_size() == 0
        elif fate is Chaos.RATE_LIMIT:
            asked.status = 429
            after = self._state.behaviour.retry_after_s
            self._send(
                429, b'{"error": {"message": "slow down"}}', b"" if after is None else b"retry-after: %g" % after
            )
        elif fate is Chaos.SERVER_ERROR:
            asked.status = 500
            self._send(500, b'{"error": {"message": "out of order"}}')
        elif fate is Chaos.GARBAGE:
            asked.status = 200
            self._send(200, b"<html>welcome</html>")
        else:
            if fate is Chaos.CUT:
                body = _sound_reply(request, self._state.behaviour)
                self._transport.write(_head(200, len(body)) + body[: len(body) // 2])
            self._transport.close()

    def _send(self, status: int, body: bytes, header: bytes = b"") -> None:
        assert self._transport is not None
        self._transport.write(_head(status, len(body), header) + body)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _head(status: int, n_body: int, header: bytes = b"") -> bytes:
    lines = [b"HTTP/1.1 %d X" % status, b"content-type: application/json", b"content-length: %d" % n_body]
    return b"\r\n".join([*lines, *([header] if header else []), b"", b""])


def _prompt(request: dict[str, Json]) -> str:
    messages: Sequence[dict[str, str]] | None = request.get("messages")
    return messages[-1]["content"] if messages else json.dumps(request.get("input"))


def _sound_reply(request: dict[str, Json], behaviour: Behaviour) -> bytes:
    """Return a completion or vectors. Tokens are counted by words."""
    prompt = _prompt(request)
    if "messages" in request:
        text = _rehearse(request) if behaviour.rehearses else answer_to(prompt)
        text = graded_answer(request["model"], prompt) if behaviour.has_grades else text
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    else:
        usage = {"prompt_tokens": sum(len(text.split()) for text in request["input"])}
        vectors = [
            {"object": "embedding", "index": i, "embedding": [1.0, float(len(text))]}
            for i, text in enumerate(request["input"])
        ]
        body = {"object": "list", "model": "m", "data": vectors}
    return json.dumps({**body, "usage": {**usage, "total_tokens": sum(usage.values())}}).encode()
