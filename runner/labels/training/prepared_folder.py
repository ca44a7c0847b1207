"""The folder of training data prepared from labels. It is complete or does not exist:

train.jsonl, validation.jsonl, test.jsonl   requests to the judge, and the expected replies
test_labels.jsonl                           the labels held out, as `read_labels` reads them
manifest.json                               its origin and its counts
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from components.errors import ConfigError, DataError
from components.json_value import Json
from runner.labels.label_files import LabelledItem
from runner.labels.training.training_pairs import TrainingPair

SPLITS = ("train", "validation", "test")
LABELS = "test_labels.jsonl"
_MANIFEST = "manifest.json"
_FILES = (*(f"{split}.jsonl" for split in SPLITS), LABELS)


@dataclass(frozen=True)
class TrainingManifest:
    """The contents of `manifest.json`.

    `key` is the SHA-256 of the files. `labels` and `sweep` are their origin. `judge` and `overrides` are the judge to
    train. `wording` is a key of each grader, independent of its model. `counts` are pairs by split, metric and grade
    ("applies" or "does not apply" if the judge asks that first). `left_out` counts, by reason, labels without a pair
    and annotators' reasons that no reply contains.
    """

    key: str
    labels: Mapping[str, Json]
    sweep: Mapping[str, Json] | None
    judge: str
    overrides: tuple[str, ...]
    wording: Mapping[str, str]
    shares: tuple[float, ...]
    seed: int
    n_questions: Mapping[str, int]
    counts: Mapping[str, Mapping[str, Mapping[str, int]]]
    left_out: Mapping[str, int]


def file_contents(pairs: Mapping[str, Sequence[TrainingPair]], held_out: Iterable[LabelledItem]) -> dict[str, bytes]:
    """Return the data files by name: `pairs` by split, and the items of the last split."""
    lines = {f"{split}.jsonl": [pair.as_json() for pair in pairs[split]] for split in SPLITS}
    lines[LABELS] = [_label_record(item) for item in held_out]
    return {
        name: "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode("utf-8")
        for name, records in lines.items()
    }


def key_of_files(contents: Mapping[str, bytes]) -> str:
    """Return the SHA-256 (hex) of names and contents."""
    digests = [f"{hashlib.sha256(contents[name]).hexdigest()} {name}\n" for name in _FILES]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def write_prepared(folder: Path, manifest: TrainingManifest, contents: Mapping[str, bytes]) -> None:
    """Write the whole folder or nothing. A folder with the same contents is left as it is.

    Raises ConfigError for a folder with other contents, DataError for a folder that cannot be written.
    """
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=2) + "\n"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if (folder / _MANIFEST).is_file() and (folder / _MANIFEST).read_text(encoding="utf-8") == text:
            return
        raise ConfigError(f"--out: {folder} exists and has other contents. Choose another folder.")
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, content in {**contents, _MANIFEST: text.encode("utf-8")}.items():
            (partial / name).write_bytes(content)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}). Choose another path.") from error


def read_manifest(folder: Path) -> TrainingManifest:
    """Return the manifest. Raises DataError if the manifest is missing, or if a file has changed since."""
    try:
        record: dict[str, Json] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        fields: dict[str, Json] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
        manifest = TrainingManifest(**fields)
        key = key_of_files({name: (folder / name).read_bytes() for name in _FILES})
    except (OSError, RecursionError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{folder}: no prepared labels ({error}), expected a folder that `python -m runner.judge_training "
            "prepare` wrote"
        ) from error
    if key != manifest.key:
        raise DataError(f"{folder}: its files do not match its manifest. Prepare them again, in another folder.")
    return manifest


def read_pairs(folder: Path, split: str) -> list[dict[str, Json]]:
    """Return the pairs of a split, as `TrainingPair.as_json` writes them."""
    with (folder / f"{split}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _label_record(item: LabelledItem) -> dict[str, Json]:
    sample = item.judged.sample
    return {
        "id": sample.id,
        "question": sample.question,
        "references": list(sample.references),
        "history": [asdict(turn) for turn in sample.history],
        **({"answer": item.judged.answer} if item.has_answer else {}),
        "passages": [passage.text for passage in item.judged.passages],
        "labels": dict(item.labels),
        "reasons": dict(item.reasons),
    }
