"""Stages: pure functions of components and of other stages' results, each stored under a key.

A stage is a frozen dataclass. Its fields are its identity: a component contributes its meaningful fields to the key,
and an input stage contributes its key. The class holds the rest: the name that users see, the version, the codec of the
result, and the computation.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypedDict, TypeVar, Unpack, dataclass_transform

from components.fields import is_in_key
from components.json_value import Json
from components.openai_server.limiter import Tokens
from runner.engine.codecs import Codec, Parts
from runner.engine.identity import Models, describe, hash_description, required_models, walk_components

if TYPE_CHECKING:
    from runner.engine.stage_run import Run

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Resources:
    """Resources that a stage occupies while it runs. 0 cores means all cores of a worker.

    Executors of one machine count only cores. Executors that choose between machines also count memory and GPUs. A
    stage may take a fraction of a GPU.
    """

    cpus: int = 0
    gpus: float = 0.0
    memory_gb: float = 0.0

    def check(self) -> list[str]:
        """Return one message per negative value."""
        return [f"{name}: got {value}, expected at least 0" for name, value in vars(self).items() if value < 0]


class Work(StrEnum):
    """The kind of work that a stage does, from the point of view of a pipeline in production.

    `ONE_TIME` is done once per corpus. `PER_QUERY` is done for all questions together. `ASKING` is done question by
    question, so that each answer has a latency. `BENCHMARK` only loads or measures a benchmark.
    """

    ONE_TIME = "one_time"
    PER_QUERY = "per_query"
    ASKING = "asking"
    BENCHMARK = "benchmark"


@dataclass(frozen=True)
class ServerRequests:
    """Requests that `component` sends to its server without `Run.ask`, and the maximum number of their tokens.

    `is_exact` is true if the requests were counted, and false if they were estimated.
    """

    component: object
    n_requests: int
    n_tokens: int
    is_exact: bool


class _StageReader:
    """Base of everything that reads stages."""

    @property
    def also_read(self) -> Sequence["AnyStage"]:
        """Further stages that are read: inputs of the stages among the fields, whose keys cover them."""
        return ()


class StageGroup(_StageReader):
    """Stages that are read together: a frozen dataclass of stages and plain values, which may be a field of a stage.

    Keys contain the name of its class. If you rename the class, pass its old name as the keyword `name_in_keys`.
    """

    name_in_keys: ClassVar[str]

    def __init_subclass__(cls, name_in_keys: str = "") -> None:
        super().__init_subclass__()
        cls.name_in_keys = name_in_keys or cls.__name__


class _StageKeywords(TypedDict, total=False):
    """Class variables of a stage, given as keywords of its class."""

    kind: str
    version: int
    work: Work
    resources: Resources
    display_name: str
    repeats_unreadable: bool
    has_quick_inputs: bool


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
class Stage(_StageReader, ABC, Generic[T]):
    """One node of a cell's graph. `T` is the type of its result. Two stages with equal keys are the same piece of work.

    A subclass is a frozen dataclass without a decorator. The keywords of its class are the class variables below:
    `class Ranked(Stage[Hits], kind="ranked", version=1)`. Raise `version` whenever the meaning of the result changes: a
    test compares the result of every kind with a committed table. A field declared with `runtime_only` is left out of
    the key, because it changes only where the result comes from. A field declared with `added_later` is left out while
    it has its default.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    resources: ClassVar[Resources] = Resources()
    work: ClassVar[Work] = Work.ONE_TIME
    display_name: ClassVar[str] = ""
    """Name of the kind for users. "" if `kind` itself is readable. See `title`."""
    repeats_unreadable: ClassVar[bool] = False
    """True if the stage repeats a request whose reply it cannot read, up to `n_attempts` times in all."""
    has_quick_inputs: ClassVar[bool] = False
    """True if all inputs are quick to compute: the plan then counts the requests one by one before the inputs are
    cached.
    """

    def __init_subclass__(cls, **header: Unpack[_StageKeywords]) -> None:
        super().__init_subclass__()
        for name, value in header.items():
            setattr(cls, name, value)
        dataclass(frozen=True, eq=False)(cls)

    def __post_init__(self) -> None:
        """Copy the mappings among the fields: a caller might change one after the key was computed."""
        for field in _fields(self):
            if isinstance(value := getattr(self, field.name), Mapping):
                object.__setattr__(self, field.name, dict(value))

    @property
    @abstractmethod
    def codec(self) -> Codec[T]:
        """Codec that turns the result into named parts for the store, and back."""

    @abstractmethod
    def make(self, run: "Run") -> T:
        """Compute the result. Read the results of other stages through `run`."""

    @property
    def title(self) -> str:
        """Name of the kind for users."""
        return self.display_name or self.kind.replace("_", " ")

    @property
    def n_requests(self) -> int:
        """Maximum number of requests to language models if nothing is cached. 0 for a stage that sends none."""
        return 0

    @property
    def request_group(self) -> str:
        """Name of the part of its kind in which the plan counts its requests, such as a judge. "" for no parts."""
        return ""

    def max_request_tokens(self, run: "Run") -> Tokens | None:
        """Return the maximum number of tokens of all its requests, before they are written. None if it is unknown."""
        return None

    def server_requests(self, run: "Run") -> ServerRequests | None:
        """Return the requests that its component will send without `run.ask`, for results that are not cached.

        None if it sends no such requests.
        """
        return None

    @property
    def shared_received(self) -> tuple[str, str] | None:
        """Folder in which the stage shares numbers received from a server with other stages until its result is
        complete.

        A pair: the key of that folder, and the key of the stage that deletes it. None if the stage shares nothing: its
        numbers then stay in its workspace until its result is stored.
        """
        return None

    def lost(self, parts: Parts) -> Sequence[str]:
        """Return the missing parts of a stored result that are outside the store, such as on a server.

        `parts` are the parts of the stored result. If any part is missing, the result is computed again. Return () for
        a complete result, or if completeness cannot be checked.
        """
        return ()

    @property
    def n_rounds(self) -> int:
        """Number of requests about one item that are sent one after another, each after the reply to the last.

        The plan can count only the first round exactly.
        """
        return 1

    @property
    def n_attempts(self) -> int:
        """Maximum number of requests about one item: the largest `max_attempts` of its components.

        1 if the stage accepts every reply.
        """
        attempts = (getattr(part, "max_attempts", 1) for part in self.components())
        return max(attempts, default=1) if self.repeats_unreadable else 1

    @cached_property
    def key(self) -> str:
        """SHA-256 (hex) that identifies the result."""
        return hash_description(self.description)

    @property
    def description(self) -> dict[str, Json]:
        """The JSON value that is hashed to the key.

        Not cached, because the descriptions of all stages of many cells take much memory.
        """
        return {"stage": self.kind, "version": self.version, "fields": _describe_fields(self)}

    @cached_property
    def inputs(self) -> tuple["AnyStage", ...]:
        """Stages among the fields and `also_read`, in order, each once."""
        stages = {leaf.key: leaf for leaf in _field_leaves(self) if isinstance(leaf, Stage)}
        return tuple(stages.values())

    @cached_property
    def models(self) -> Models:
        """Models that must be in memory, including models of metrics and judges. Stages with equal models run together.

        Models that only its inputs need are not included.
        """
        return frozenset(model for part in self._own_leaves() for model in required_models(part))

    def components(self) -> Iterator[object]:
        """Yield all components in its fields, nested ones included, but not the components of its inputs."""
        for leaf in self._own_leaves():
            yield from walk_components(leaf)

    def _own_leaves(self) -> Iterator[object]:
        return (leaf for leaf in _field_leaves(self) if not isinstance(leaf, Stage))

    @property
    def asks_a_server(self) -> bool:
        """True if a component has an account at a server or an API key: its requests may cost money."""
        return any(hasattr(type(part), "account") or hasattr(part, "api_key_env") for part in self.components())

    def upstream(self) -> Iterator["AnyStage"]:
        """Yield all stages that this one depends on, inputs first, each once, and finally the stage itself."""
        seen: set[str] = set()

        def walk(stage: "AnyStage") -> Iterator["AnyStage"]:
            if stage.key not in seen:
                seen.add(stage.key)
                for input_stage in stage.inputs:
                    yield from walk(input_stage)
                yield stage

        return walk(self)


AnyStage = Stage[object]
"""A stage with any type of result."""


def _fields(value: object) -> tuple["dataclasses.Field[object]", ...]:
    return dataclasses.fields(value)  # type: ignore[arg-type]  # stages and groups are dataclasses by their contract


def _describe_fields(value: object) -> dict[str, Json]:
    values = [(field, getattr(value, field.name)) for field in _fields(value)]
    return {field.name: _describe_value(each) for field, each in values if is_in_key(field, each)}


def _describe_value(value: object) -> Json:
    if isinstance(value, Stage):
        return value.key
    if isinstance(value, StageGroup):
        return {"group": value.name_in_keys, **_describe_fields(value)}
    if isinstance(value, tuple):
        return [_describe_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _describe_value(item) for name, item in value.items()}
    return describe(value)


def _field_leaves(value: _StageReader) -> Iterator[object]:
    """Yield the values in the fields of a stage or a group: stages, components, plain values. Also `also_read`."""
    for field in _fields(value):
        yield from _leaves(getattr(value, field.name))
    yield from value.also_read


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, StageGroup):
        yield from _field_leaves(value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value
