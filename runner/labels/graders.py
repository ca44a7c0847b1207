"""The graders of a configured judge that people's labels are about."""

from collections.abc import Mapping, Sequence

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.judges.graded import Graded
from runner.engine.plugins.plugin_loading import load_plugins
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem, metrics_of
from runner.pipeline.building import build_component, plugins_of
from runner.pipeline.settings import JudgeSettings


def graders_of(config: Mapping[str, Json], items: Sequence[LabelledItem]) -> dict[str, Graded]:
    """The judge's graders of the labelled metrics, by name. Raises ConfigError if it has none for one of them,
    DataError for a label that is none of its grades, and for an item that lacks what the judge reads.
    """
    load_plugins(plugins_of(config))
    settings: JudgeSettings = build_component(config["judge"], JudgeSettings, "judge", plugins_of(config))
    known = {grader.name: grader for grader in settings.scores.values() if isinstance(grader, Graded)}
    wanted = metrics_of(items)
    if unknown := [name for name in wanted if name not in known]:
        raise ConfigError(
            f"--judge: labels came for {', '.join(unknown)}, which this judge does not grade; it grades "
            f"{', '.join(known) or 'nothing'}. Choose another judge, or remove these labels"
        )
    for item in items:
        for name, label in item.labels.items():
            if label not in (*known[name].grades, NOT_APPLICABLE):
                raise DataError(
                    f"item '{item.judged.sample.id}': the label {label} of {name} is no grade of the judge; "
                    f"expected one of {', '.join(map(str, known[name].grades))}, or {NOT_APPLICABLE} for not "
                    "applicable."
                )
            if known[name].reads_answers and not item.has_answer:
                raise DataError(f"item '{item.judged.sample.id}': has no field 'answer', which {name} grades.")
            if missing := known[name].lacks(item.judged):
                raise DataError(f"item '{item.judged.sample.id}': has no {missing}, which the judge of {name} reads.")
            if not known[name].reads_answers and len(item.judged.passages) != 1:
                raise DataError(
                    f"item '{item.judged.sample.id}': {name} grades a passage; {len(item.judged.passages)} came, one "
                    "was wanted: make an item of each passage."
                )
    return {name: known[name] for name in wanted}
