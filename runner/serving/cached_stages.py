"""The cached stages that answering needs, and how they are read from an exported folder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from components.errors import DamagedEntryError, StoreError
from components.json_value import Json
from runner.engine.stage import AnyStage, Stage
from runner.engine.store import Manifest, StoredResult
from runner.engine.store.manifests import named_files

T = TypeVar("T")


@dataclass(frozen=True)
class StageFiles:
    """One cached stage in an exported folder.

    `files` are [SHA-256, bytes] by name. `made_by` are the versions of the stage and of all components in it.
    """

    folder: str
    kind: str
    made_by: Mapping[str, int]
    files: Mapping[str, Sequence[Json]]


def needed_stages(targets: Iterable[AnyStage], samples: AnyStage) -> list[AnyStage]:
    """Return the stages that the targets need and that do not depend on the samples, each once.

    On every path from a target, it is the first such stage. Equal pipelines have them in equal order.
    """
    by_key: dict[str, AnyStage] = {}
    seen: set[str] = set()

    def walk(stage: AnyStage) -> None:
        if stage.key in seen:
            return
        seen.add(stage.key)
        if not any(before.key == samples.key for before in stage.upstream()):
            by_key[stage.key] = stage
        elif stage.key != samples.key:
            for before in stage.inputs:
                walk(before)

    for stage in targets:
        walk(stage)
    return list(by_key.values())


def read_versions(stage: AnyStage) -> dict[str, int]:
    """Return the versions of a stage and of the classes in it. Together they determine the meaning of its result."""
    versions = {type(part).__qualname__: int(getattr(part, "version", 0)) for part in stage.components()}
    return {"stage": stage.version, **dict(sorted(versions.items()))}


class CachedStages:
    """Results of stages, each read on first use and then cached in memory."""

    def __init__(self, root: Path, stages: Sequence[AnyStage], stored_files: Sequence[StageFiles]) -> None:
        """`stages` are the pipeline's stages, and `stored_files` the stages in the folder `root`, in the same order.

        Their keys may differ, because a key contains the path of a model's folder. Raises StoreError if their kinds or
        versions differ.
        """
        present = [(files.kind, dict(files.made_by)) for files in stored_files]
        needed = [(stage.kind, read_versions(stage)) for stage in stages]
        if present != needed:
            raise StoreError(f"{root}: {_difference(present, needed)}")
        self._root = root
        self._entries = {
            stage.key: _entry(root, stage, files) for stage, files in zip(stages, stored_files, strict=True)
        }
        self._read: dict[str, object] = {}

    def __contains__(self, stage: AnyStage) -> bool:
        return stage.key in self._entries

    def read(self, stage: Stage[T]) -> T:
        """The result of a stage. Raises StoreError if its files are damaged or missing."""
        if stage.key not in self._read:
            try:
                self._read[stage.key] = stage.codec.decode(self._entries[stage.key].parts())
            except DamagedEntryError as error:
                raise StoreError(f"{self._root}: is damaged ({error}). Export the cell again.") from error
        result: T = self._read[stage.key]  # type: ignore[assignment]  # decoded by a Stage[T]
        return result


def _entry(root: Path, stage: AnyStage, stored_files: StageFiles) -> StoredResult:
    files = named_files({"files": stored_files.files})
    return StoredResult(
        root / stored_files.folder, Manifest(stored_files.kind, stage.key, 0.0, 0.0, "", False, files, {})
    )


def _difference(present: Sequence[tuple[str, dict[str, int]]], needed: Sequence[tuple[str, dict[str, int]]]) -> str:
    kind, versions = next((each for each in needed if each not in present), needed[-1])
    makers = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"was exported by another version of rag-grid (it lacks {kind} made by {makers}). Use the code that "
        "came with it (python pipeline.py in the folder), or export the cell again."
    )
