"""The kept stages that answering needs: what they are, and reading them from an exported folder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from components.errors import DamagedEntryError, StoreError
from components.json_value import Json
from runner.engine.stage import AnyStage, Stage
from runner.engine.store import Manifest, StoredResult

T = TypeVar("T")


@dataclass(frozen=True)
class KeptFiles:
    """One kept stage in an exported folder: `files` are their [SHA-256, bytes] by name, `made_by` the versions of the
    stage and of all components in it.
    """

    folder: str
    kind: str
    made_by: Mapping[str, int]
    files: Mapping[str, Sequence[Json]]


def needed_stages(wanted: Iterable[AnyStage], samples: AnyStage) -> list[AnyStage]:
    """The stages that the wanted ones are made of and that are the same whatever the samples, each once: the first on
    every way from what is wanted. Equal pipelines have them in equal order.
    """
    found: dict[str, AnyStage] = {}
    seen: set[str] = set()

    def walk(stage: AnyStage) -> None:
        if stage.key in seen:
            return
        seen.add(stage.key)
        if not any(before.key == samples.key for before in stage.upstream()):
            found[stage.key] = stage
        elif stage.key != samples.key:
            for before in stage.inputs:
                walk(before)

    for stage in wanted:
        walk(stage)
    return list(found.values())


def made_by(stage: AnyStage) -> dict[str, int]:
    """The versions of a stage and of the classes in it, which say what its result means."""
    versions = {type(part).__qualname__: int(getattr(part, "version", 0)) for part in stage.components()}
    return {"stage": stage.version, **dict(sorted(versions.items()))}


class KeptStages:
    """Results of stages, each read when it is wanted for the first time, and held from then on."""

    def __init__(self, root: Path, stages: Sequence[AnyStage], kept: Sequence[KeptFiles]) -> None:
        """`stages` are those that the pipeline needs, `kept` what the folder `root` holds of them, in equal order:
        their keys may differ, since the place of a model's folder stands in a key. Raises StoreError for others.
        """
        told = [(own.kind, dict(own.made_by)) for own in kept]
        wanted = [(stage.kind, made_by(stage)) for stage in stages]
        if told != wanted:
            raise StoreError(f"{root}: {_difference(told, wanted)}")
        self._root = root
        self._entries = {stage.key: _entry(root, stage, own) for stage, own in zip(stages, kept, strict=True)}
        self._read: dict[str, object] = {}

    def __contains__(self, stage: AnyStage) -> bool:
        return stage.key in self._entries

    def read(self, stage: Stage[T]) -> T:
        """The result of a stage. Raises StoreError if its files are damaged or missing."""
        if stage.key not in self._read:
            try:
                self._read[stage.key] = stage.codec.decode(self._entries[stage.key].parts())
            except DamagedEntryError as error:
                raise StoreError(f"{self._root}: is damaged ({error}); export the cell again") from error
        result: T = self._read[stage.key]  # type: ignore[assignment]  # decoded by a Stage[T]
        return result


def _entry(root: Path, stage: AnyStage, kept: KeptFiles) -> StoredResult:
    files = {name: (str(digest), int(size)) for name, (digest, size) in kept.files.items()}
    return StoredResult(root / kept.folder, Manifest(kept.kind, stage.key, 0.0, 0.0, "", False, files, {}))


def _difference(told: Sequence[tuple[str, Json]], wanted: Sequence[tuple[str, Json]]) -> str:
    missing = next((of for of in wanted if of not in told), wanted[-1:])
    return (
        f"was exported by another version of the project ({missing} is not among what it holds); use the code that "
        "came with it (python pipeline.py in the folder), or export the cell again"
    )
