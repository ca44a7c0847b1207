"""A judge before and after its training, against people's labels that were held out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.errors import ConfigError, DataError
from components.judges.graded import Graded
from components.openai_server.managed import let_go
from components.pretrained.load_once import release_all_but
from components.records import ScoreState
from components.statistics.agreement import Agreement, Gain, agree, gain
from runner.engine.store import open_store
from runner.labels.graders import graders_of
from runner.labels.label_files import LabelledItem, read_labels
from runner.labels.rating import Rated, rate
from runner.labels.training.prepared_folder import LABELS, TrainingManifest, read_manifest
from runner.labels.training.preparing import wording_key
from runner.labels.training.trained import ADAPTER, Training, llm_fields, read_training
from runner.launch.compose import compose_config
from runner.launch.overrides import readable

OVERALL = "all metrics"


@dataclass(frozen=True)
class ComparedJudges:
    """Of one metric. `n_failed` labels are left out, as a request about them failed, for reasons that `failures` count;
    replies of `n_unparsable` (before, after) could not be read, and agree with nothing. The agreements are None where
    all requests failed.
    """

    n_failed: int
    failures: Mapping[str, int]
    n_unparsable: tuple[int, int]
    before: Agreement | None
    after: Agreement | None
    gain: Gain | None


def evaluate(data: Path, folder: Path, llm: str, overrides: Sequence[str]) -> dict[str, ComparedJudges]:
    """By metric, and over all where there are several. `llm` is the option by which the model is run, and `overrides`
    are more for it. Raises DataError for a judge that was trained on other data, ConfigError for one of other wording.
    """
    manifest, training = read_manifest(data), read_training(folder)
    if training.settings["data"] != manifest.key:
        raise DataError(
            f"{folder}: this judge was trained on other data than {data}, some of which may be held out here; expected "
            "the folder that it was trained on"
        )
    items = read_labels(data / LABELS)
    before = _judged(manifest, training, "", items, llm, overrides)
    release_all_but(())  # a model with an adapter is loaded, or served, anew: two of them may not fit into memory
    let_go()
    after = _judged(manifest, training, str((folder / ADAPTER).resolve()), items, llm, overrides)
    names = list(dict.fromkeys(rated.metric for rated in before))
    both = list(zip(before, after, strict=True))
    compared = {name: _compared([pair for pair in both if pair[0].metric == name]) for name in names}
    return {**compared, OVERALL: _compared(both)} if len(names) > 1 else compared


def _judged(
    manifest: TrainingManifest,
    training: Training,
    adapter: str,
    items: Sequence[LabelledItem],
    llm: str,
    overrides: Sequence[str],
) -> list[Rated]:
    fields = llm_fields(training.settings, adapter, llm)
    chosen = [f"judge={manifest.judge}", *manifest.overrides, f"llm@judge.llm={llm}"]
    config = compose_config(
        readable([*chosen, *(f"judge.llm.{name}={value}" for name, value in fields.items()), *overrides])
    )
    graders = graders_of(config, items)
    _require_same_wording(graders.values(), manifest)
    store = open_store(config["run"]["store_dir"], config["run"]["cache_dir"])
    return [rated for grader in graders.values() for rated in rate(grader, items, store)]


def _require_same_wording(graders: Iterable[Graded], manifest: TrainingManifest) -> None:
    if changed := [grader.name for grader in graders if wording_key(grader) != manifest.wording.get(grader.name)]:
        raise ConfigError(
            f"judge: asks about {', '.join(changed)} in other words than it was trained with; prepare the labels and "
            "train again, or take the version and the configuration of then"
        )


def _compared(pairs: Sequence[tuple[Rated, Rated]]) -> ComparedJudges:
    """Of the labels about which neither judge's request failed."""
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
