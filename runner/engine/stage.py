"""A stage: a pure function of components and of other stages' results, with the key of its result.

A stage is a frozen dataclass. Its fields are its identity: components stand in the key for their meaningful fields,
stages for their own keys. Everything else about a stage is in its class: the name that users see, its version, how its
result becomes files, and how it is computed.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from components.fields import counts
from components.json_value import Json
from components.openai_server.gate import Tokens
from runner.engine.codecs import Codec, Parts
from runner.engine.identity import Models, describe, key_of, models_in, parts_of

if TYPE_CHECKING:
    from runner.engine.stage_run import Run

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Resources:
    """What a stage occupies while it runs; 0 cores are as many as a worker has. The executors of one machine count
    cores; GPUs, of which a stage may take a fraction, and memory are for those that choose between machines.
    """

    cpus: int = 0
    gpus: float = 0.0
    memory_gb: float = 0.0

    def check(self) -> list[str]:
        """Negative ones."""
        return [f"{name}: got {value}, expected at least 0" for name, value in vars(self).items() if value < 0]


class Work(StrEnum):
    """What a stage's time is spent on, as one who runs the pipeline in production sees it: once for a corpus; for each
    question, all of them at once; for each question, one by one, so that every answer has a latency of its own; or
    only to load and to measure a benchmark.
    """

    ONE_TIME = "one_time"
    PER_QUERY = "per_query"
    ASKING = "asking"
    BENCHMARK = "benchmark"


@dataclass(frozen=True)
class ServerRequests:
    """Requests that `component` sends to its server by itself, and the tokens that they take at most. `is_exact` if
    they were counted, not estimated.
    """

    component: object
    n_requests: int
    n_tokens: int
    is_exact: bool


class StageGroup:
    """Stages that are read together: a frozen dataclass of stages (and plain values) that may be a stage's field."""


class Stage(ABC, Generic[T]):
    """One node of a cell's graph; two stages with equal keys are one piece of work. `T` is the type of its result.

    Subclasses are `@dataclass(frozen=True, eq=False)`. `version` is raised whenever the meaning of the result changes:
    a test holds every kind's result against a committed table. A field made with `runtime_only` is left out of the key:
    it changes where the result comes from, never what it is. So is one made with `added_later` at its default.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    resources: ClassVar[Resources] = Resources()
    work: ClassVar[Work] = Work.ONE_TIME
    in_words: ClassVar[str] = ""
    """What users read of its kind, "" where the kind says it: see `title`."""
    must_read_replies: ClassVar[bool] = False
    """True if a reply that it cannot read is asked for again, up to `n_attempts` times in all."""
    counts_ahead: ClassVar[bool] = False
    """True if all of its inputs are made at once: its requests are counted one by one before these are kept."""

    def __post_init__(self) -> None:
        """Copies what is a mapping: a caller's may change after the key is made."""
        for field in _fields(self):
            if isinstance(value := getattr(self, field.name), Mapping):
                object.__setattr__(self, field.name, dict(value))

    @property
    @abstractmethod
    def codec(self) -> Codec[T]:
        """How the result becomes named parts that the store can keep, and back."""

    @abstractmethod
    def make(self, run: "Run") -> T:
        """Computes the result. What it needs of other stages it reads through `run`."""

    @property
    def title(self) -> str:
        """What its kind makes or does, for users."""
        return self.in_words or self.kind.replace("_", " ")

    @property
    def n_requests(self) -> int:
        """Requests to language models if nothing is kept, at most; 0 for a stage that asks none."""
        return 0

    def most_tokens(self, run: "Run") -> Tokens | None:
        """What all its requests take at most, told before they are written; None if that cannot be told."""
        return None

    def server_requests(self, run: "Run") -> ServerRequests | None:
        """What its component asks of a server without `run.ask`, for what is not kept; None if it asks nothing."""
        return None

    @property
    def shared_received(self) -> tuple[str, str] | None:
        """Where it keeps results of a server that came before it is whole, if other stages read them too: the key of
        the place, and the key of the stage that drops them. None: apart, as long as it is not kept itself.
        """
        return None

    def lost(self, parts: Parts) -> Sequence[str]:
        """What of its kept result, of which these are the parts, lies in another place than the store, such as a
        server, and is not there any more: it is then made again. () if it is sound, or if that cannot be told.
        """
        return ()

    @property
    def n_rounds(self) -> int:
        """How often it asks about one thing, each time after the reply before: only the first can be counted ahead."""
        return 1

    @property
    def n_attempts(self) -> int:
        """Requests about one thing at most, as its components say by `max_attempts`; 1 if every reply is taken."""
        attempts = (getattr(part, "max_attempts", 1) for part in self.components())
        return max(attempts, default=1) if self.must_read_replies else 1

    @cached_property
    def key(self) -> str:
        """SHA-256 (hex) that stands for the result."""
        return key_of(self.description)

    @property
    def description(self) -> dict[str, Json]:
        """What the key is the hash of. Made anew each time: those of all stages of many cells take much memory."""
        return {"stage": self.kind, "version": self.version, "fields": _described_fields(self)}

    @cached_property
    def inputs(self) -> tuple["AnyStage", ...]:
        """The stages among the fields, in order, each once."""
        found = {leaf.key: leaf for leaf in _leaves_of_fields(self) if isinstance(leaf, Stage)}
        return tuple(found.values())

    @cached_property
    def models(self) -> Models:
        """The models that must be in memory, those of metrics and judges too: stages with equal ones are run together.
        What its inputs needed is not among them.
        """
        return frozenset(model for part in self._own_leaves() for model in models_in(part))

    def components(self) -> Iterator[object]:
        """All components in its fields and within one another; those of its inputs are not among them."""
        for leaf in self._own_leaves():
            yield from parts_of(leaf)

    def _own_leaves(self) -> Iterator[object]:
        return (leaf for leaf in _leaves_of_fields(self) if not isinstance(leaf, Stage))

    @property
    def asks_a_server(self) -> bool:
        """True if a component sends requests that may cost money: it has an account at a server, or a key."""
        return any(hasattr(type(part), "account") or hasattr(part, "api_key_env") for part in self.components())

    def upstream(self) -> Iterator["AnyStage"]:
        """Itself and everything that it needs, inputs first, each once."""
        seen: set[str] = set()

        def walk(stage: "AnyStage") -> Iterator["AnyStage"]:
            if stage.key not in seen:
                seen.add(stage.key)
                for before in stage.inputs:
                    yield from walk(before)
                yield stage

        return walk(self)


AnyStage = Stage[object]
"""One whose result may be anything."""


def _fields(value: object) -> tuple["dataclasses.Field[object]", ...]:
    return dataclasses.fields(value)  # type: ignore[arg-type]  # stages and groups are dataclasses by their contract


def _described_fields(value: object) -> dict[str, Json]:
    values = [(field, getattr(value, field.name)) for field in _fields(value)]
    return {field.name: _described(of_field) for field, of_field in values if counts(field, of_field)}


def _described(value: object) -> Json:
    if isinstance(value, Stage):
        return value.key
    if isinstance(value, StageGroup):
        return {"group": type(value).__name__, **_described_fields(value)}
    if isinstance(value, tuple):
        return [_described(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _described(item) for name, item in value.items()}
    return describe(value)


def _leaves_of_fields(value: object) -> Iterator[object]:
    """What the fields of a stage or a group hold: stages, components, plain values."""
    for field in _fields(value):
        yield from _leaves(getattr(value, field.name))


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, StageGroup):
        yield from _leaves_of_fields(value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value
