"""Evaluates a judge before and after its training, on labels that were held out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.errors import ConfigError, DataError
from components.judges.graded import Graded
from components.openai_server.managed_servers import release_servers
from components.pretrained.load_once import release_all_but
from components.records import ScoreState
from components.statistics.agreement import Agreement, Gain, agree, gain
from runner.engine.store import open_store
from runner.labels.graders import labelled_graders
from runner.labels.label_files import LabelledItem, read_labels
from runner.labels.rating import Rating, rate_items
from runner.labels.training.prepared_folder import LABELS, TrainingManifest, read_manifest
from runner.labels.training.preparing import wording_key
from runner.labels.training.trained_judge import ADAPTER, Training, llm_fields, read_training
from runner.launch.compose import compose_config
from runner.launch.overrides import quote_values

OVERALL = "all metrics"


@dataclass(frozen=True)
class ComparedJudges:
    """The two judges on one metric, or on all metrics.

    `n_failed` labels are left out because a request about them failed; `failures` counts the errors. `n_unparsable`
    (before, after) replies could not be read, and agree with no label. The agreements are None if all requests failed.
    """

    n_failed: int
    failures: Mapping[str, int]
    n_unparsable: tuple[int, int]
    before: Agreement | None
    after: Agreement | None
    gain: Gain | None


def evaluate(data: Path, folder: Path, llm: str, overrides: Sequence[str]) -> dict[str, ComparedJudges]:
    """Return the comparison by metric, and over all metrics if there are several.

    `llm` is the option that runs the model, and `overrides` are further overrides of it. Raises DataError for a judge
    that was trained on other data, ConfigError for a judge that was trained with other wording.
    """
    manifest, training = read_manifest(data), read_training(folder)
    if training.settings["data"] != manifest.key:
        raise DataError(
            f"{folder}: this judge was not trained on {data}, so its training data may include labels that are held "
            "out here, expected the folder that it was trained on"
        )
    items = read_labels(data / LABELS)
    before = _rate_all(manifest, training, "", items, llm, overrides)
    release_all_but(())  # the model is loaded or served again with its adapter, and two may not fit in memory
    release_servers()
    after = _rate_all(manifest, training, str((folder / ADAPTER).resolve()), items, llm, overrides)
    names = list(dict.fromkeys(rated.metric for rated in before))
    both = list(zip(before, after, strict=True))
    compared = {name: _compare([pair for pair in both if pair[0].metric == name]) for name in names}
    return {**compared, OVERALL: _compare(both)} if len(names) > 1 else compared


def _rate_all(
    manifest: TrainingManifest,
    training: Training,
    adapter: str,
    items: Sequence[LabelledItem],
    llm: str,
    overrides: Sequence[str],
) -> list[Rating]:
    fields = llm_fields(training.settings, adapter, llm)
    chosen = [f"judge={manifest.judge}", *manifest.overrides, f"llm@judge.llm={llm}"]
    config = compose_config(
        quote_values([*chosen, *(f"judge.llm.{name}={value}" for name, value in fields.items()), *overrides])
    )
    graders = labelled_graders(config, items)
    _require_same_wording(graders.values(), manifest)
    store = open_store(config["run"]["store_dir"], config["run"]["cache_dir"])
    return [rated for grader in graders.values() for rated in rate_items(grader, items, store)]


def _require_same_wording(graders: Iterable[Graded], manifest: TrainingManifest) -> None:
    if changed := [grader.name for grader in graders if wording_key(grader) != manifest.wording.get(grader.name)]:
        raise ConfigError(
            f"judge: its wording of {', '.join(changed)} changed since it was trained. Prepare the labels and train "
            "again, or use the former version and configuration."
        )


def _compare(pairs: Sequence[tuple[Rating, Rating]]) -> ComparedJudges:
    """Return the agreements on the labels for which neither judge's request failed."""
    rows = [
        (old.label, old.judged, new.judged, old.question)
        for old, new in pairs
        if old.judged is not None and new.judged is not None
    ]
    n_failed = len(pairs) - len(rows)
    failures = Counter(rated.remark for pair in pairs for rated in pair if rated.judged is None)
    if not rows:
        return ComparedJudges(n_failed, failures, (0, 0), None, None, None)
    labels, before, after, questions = zip(*rows, strict=True)
    return ComparedJudges(
        n_failed,
        failures,
        (before.count(ScoreState.UNPARSABLE.value), after.count(ScoreState.UNPARSABLE.value)),
        agree(labels, before, questions),
        agree(labels, after, questions),
        gain(labels, before, after, questions),
    )
