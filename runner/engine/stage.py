"""A stage: a pure function of a component's configuration and of other stages' results, with the key of its result."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from components.errors import DamagedEntryError
from runner.engine.identity import describe, key_of
from runner.engine.store import Entry, Store
from runner.engine.store.codec import Payload

T = TypeVar("T")


@dataclass(frozen=True)
class Output:
    """What a stage returns. `partial`: some requests failed, so that a later run must try again."""

    payload: Payload
    partial: bool = False


@dataclass(frozen=True, eq=False)
class Stage:
    """One node of a cell's graph. Two stages with equal keys are one piece of work.

    `kind` is the name that users see; `version` is raised when the meaning of the stage's result changes. `settings`
    are values besides the component that the result depends on. `content`, if not empty, is the hash of the data
    that the stage passes on: it stands for the inputs, whose own keys do not count then.
    """

    kind: str
    compute: "Callable[[Stage, Inputs], Output]"
    component: Any
    inputs: Mapping[str, "Stage"] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    content: str = ""
    version: int = 1
    key: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", dict(self.inputs))  # a caller's dictionary may change after the key is made
        object.__setattr__(self, "key", key_of(self.description))

    @property
    def description(self) -> dict[str, Any]:
        """What the key is the hash of."""
        return {
            "stage": self.kind,
            "version": self.version,
            "component": describe(self.component),
            "settings": describe(self.settings),
            "content": self.content,
            "inputs": {} if self.content else {name: stage.key for name, stage in sorted(self.inputs.items())},
        }

    @property
    def model(self) -> str:
        """Names the model that must be loaded for this stage, "" for none: stages of one model are run together."""
        model = getattr(self.component, "model", None)
        return key_of([type(self.component).__qualname__, describe(model)]) if model else ""

    def upstream(self) -> "Iterator[Stage]":
        """Itself and everything that it needs, inputs first, each once."""
        seen: set[str] = set()

        def walk(stage: Stage) -> Iterator[Stage]:
            if stage.key not in seen:
                seen.add(stage.key)
                for before in stage.inputs.values():
                    yield from walk(before)
                yield stage

        return walk(self)


class Cache:
    """The last few decoded results of a process, so that a corpus is not decoded anew for each stage that reads it."""

    def __init__(self, size: int = 8) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def get(self, key: str, name: str, make: Callable[[], T]) -> T:
        """The kept value, or a new one that is kept in the place of the one used longest ago."""
        if (key, name) in self._kept:
            self._kept.move_to_end((key, name))
        else:
            value = make()
            self._kept[(key, name)] = value
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return self._kept[(key, name)]  # type: ignore[no-any-return]


class Inputs:
    """How a stage reads the results of its inputs, and reports how far it is."""

    def __init__(self, stage: Stage, store: Store, cache: Cache, report: Callable[[int, int], None]) -> None:
        self._stage = stage
        self._cache = cache
        self.store = store
        self.report = report
        """Call with (done, all) to move the progress bar within a long stage."""

    def entry(self, name: str) -> Entry:
        """The stored result of an input. Raises DamagedEntryError if it went away after it was made."""
        stage = self._stage.inputs[name]
        entry = self.store.find(stage.kind, stage.key)
        if entry is None:
            raise DamagedEntryError(f"{stage.kind} {stage.key[:12]}: it was there, and is not any more")
        return entry

    def read(self, name: str, decode: Callable[[dict[str, Any]], T]) -> T:
        """The decoded result of an input. Raises DamagedEntryError."""
        key = self._stage.inputs[name].key
        return self._cache.get(key, decode.__qualname__, lambda: decode(self.entry(name).read()))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the stage's inputs."""
        return tuple(self._stage.inputs)

    def has(self, name: str) -> bool:
        """True if the stage has an input of this name."""
        return name in self._stage.inputs
