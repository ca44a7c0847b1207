"""The graders of a configured judge for the metrics that annotators labelled."""

from collections.abc import Mapping, Sequence

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.judges.graded import Graded
from runner.engine.plugins.plugin_loading import load_plugins
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem, list_metrics
from runner.pipeline.building import build_component, read_plugins
from runner.pipeline.settings import JudgeSettings


def labelled_graders(config: Mapping[str, Json], items: Sequence[LabelledItem]) -> dict[str, Graded]:
    """Return the judge's graders of the labelled metrics, by name.

    Raises ConfigError for a metric that the judge does not grade. Raises DataError for a label that is not one of the
    grader's grades, and for an item that lacks a field that the judge reads.
    """
    load_plugins(read_plugins(config))
    settings: JudgeSettings = build_component(config["judge"], JudgeSettings, "judge", read_plugins(config))
    graders = {grader.name: grader for grader in settings.scores.values() if isinstance(grader, Graded)}
    labelled = list_metrics(items)
    if unknown := [name for name in labelled if name not in graders]:
        raise ConfigError(
            f"--judge: got labels of {', '.join(unknown)}, which this judge does not grade; it grades "
            f"{', '.join(graders) or 'nothing'}. Choose another judge, or remove these labels."
        )
    for item in items:
        for name, label in item.labels.items():
            if label not in (*graders[name].grades, NOT_APPLICABLE):
                raise DataError(
                    f"item {item.judged.sample.id!r}: got the label {label} of {name}, which is not a grade of "
                    f"the judge, expected one of {', '.join(map(str, graders[name].grades))}, or {NOT_APPLICABLE} "
                    "for not applicable"
                )
            if graders[name].reads_answers and not item.has_answer:
                raise DataError(f"item {item.judged.sample.id!r}: has no answer, which {name} grades")
            if missing := graders[name].missing_input(item.judged):
                raise DataError(f"item {item.judged.sample.id!r}: has no {missing}, which the judge of {name} reads")
            if not graders[name].reads_answers and len(item.judged.passages) != 1:
                raise DataError(
                    f"item {item.judged.sample.id!r}: got {len(item.judged.passages)} passages, but {name} grades "
                    "one, expected an item for each passage"
                )
    return {name: graders[name] for name in labelled}
