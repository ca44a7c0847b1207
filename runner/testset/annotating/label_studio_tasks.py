"""Tasks for Label Studio and their labelling configuration.

Controls are called `question`, `references`, `topic`, `rating`, `check_<name>`, and `gold_<n>` on `document_<n>`. The
data also have `id`, `version` and `documents` (the ids of the shown documents, in their order), which are not shown.
Format: https://labelstud.io/guide/task_format, https://labelstud.io/guide/predictions
"""

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as Xml

from components.errors import DataError
from components.json_value import Json
from components.records import Sample
from runner.results.released_set import Testset
from runner.testset.annotating.annotated_set import documents_of, list_topics
from runner.testset.annotating.annotations import MAX_RATING, AnnotatorCheck
from runner.testset.annotating.annotator_wording import AnnotatorWording

SHOWN = "shown_question"
GOLD_LABEL = "gold"

_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_STYLE = ".htx-text { white-space: pre-wrap; }"
"""Without it, Label Studio trims the spaces of the shown text, and offsets refer to the trimmed text."""


def labelling_config(samples: Sequence[Sample], testset: Testset, wording: AnnotatorWording) -> str:
    """Return one XML configuration for all tasks. It has as many documents as the largest task.

    Raises DataError for a topic with a control character, which XML cannot contain.
    """
    root = Xml.Element("View")
    _add(root, "Style").text = _STYLE
    _add(root, "Header", value=wording.about)
    _add(root, "Text", name="shown_cell", value="$cell")
    if any(sample.history for sample in samples):
        _add(root, "Header", value=wording.history)
        _add(root, "Text", name="shown_history", value="$history")
    _add(root, "Header", value=wording.question)
    _add(root, "Text", name=SHOWN, value="$question")
    _add(root, "TextArea", name="question", toName=SHOWN, editable="true", rows="2", maxSubmissions="1")
    _add(root, "Header", value=wording.references)
    _add(root, "TextArea", name="references", toName=SHOWN, editable="true", rows="4")
    _add(root, "Header", value=wording.passages)
    for number in range(1, max((len(documents_of(sample, testset)) for sample in samples), default=0) + 1):
        _add(root, "Header", value=f"$title_{number}", size="5")
        labels = _add(root, "Labels", name=f"gold_{number}", toName=f"document_{number}")
        _add(labels, "Label", value=wording.gold, alias=GOLD_LABEL)
        _add(root, "Text", name=f"document_{number}", value=f"$document_{number}", granularity="symbol")
    for check in AnnotatorCheck:
        _add(root, "Header", value=wording.checks[check], size="5")
        choices = _choices(root, f"check_{check}")
        _add(choices, "Choice", value=wording.yes, alias="yes")
        _add(choices, "Choice", value=wording.no, alias="no")
    if topics := list_topics(testset):
        _add(root, "Header", value=wording.topic)
        choices = _choices(root, "topic")
        for topic in topics:
            if _NOT_IN_XML.search(topic):
                raise DataError(
                    f"the topic {topic!r} contains a control character, which a labelling configuration cannot contain"
                )
            _add(choices, "Choice", value=topic)
    _add(root, "Header", value=wording.rating)
    _add(root, "Rating", name="rating", toName=SHOWN, maxRating=str(MAX_RATING), required="true")
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode")


def make_tasks(samples: Sequence[Sample], testset: Testset) -> Iterator[dict[str, Json]]:
    """Yield a task for each sample. Its prediction holds the sample's texts and gold, which annotators start from."""
    n_documents = max((len(documents_of(sample, testset)) for sample in samples), default=0)
    for sample in samples:
        names = documents_of(sample, testset)
        documents = {f"document_{number}": testset.texts[name] for number, name in enumerate(names, start=1)}
        documents |= {f"title_{number}": testset.titles[name] or name for number, name in enumerate(names, start=1)}
        nothing = {f"{field}_{number}": "" for number in range(1, n_documents + 1) for field in ("document", "title")}
        data = {
            "id": sample.id,
            "version": testset.key,
            "cell": f"{sample.task or '–'} / {sample.topic or '–'}",
            "history": "\n".join(f"{turn.question}\n→ {turn.answer}" for turn in sample.history),
            "question": sample.question,
            "documents": names,
            **nothing,
            **documents,
        }
        results = list(_prediction(sample, names, testset))
        yield {"data": data, "predictions": [{"model_version": testset.key[:12], "result": results}]}


def _prediction(sample: Sample, names: Sequence[str], testset: Testset) -> Iterator[dict[str, Json]]:
    yield _result("question", SHOWN, "textarea", {"text": [sample.question]})
    if sample.references:
        yield _result("references", SHOWN, "textarea", {"text": list(sample.references)})
    if sample.topic:
        yield _result("topic", SHOWN, "choices", {"choices": [sample.topic]})
    for i, unit in enumerate(sample.gold):
        if unit.start is not None:
            number = names.index(unit.document_id) + 1
            text = testset.texts[unit.document_id][unit.start : unit.end]
            value = {"start": unit.start, "end": unit.end, "text": text, "labels": [GOLD_LABEL]}
            yield {**_result(f"gold_{number}", f"document_{number}", "labels", value), "id": f"gold-{i}"}


def _result(control: str, target: str, kind: str, value: Json) -> dict[str, Json]:
    return {"id": control, "from_name": control, "to_name": target, "type": kind, "value": value}


def _choices(root: Xml.Element, name: str) -> Xml.Element:
    return _add(root, "Choices", name=name, toName=SHOWN, choice="single-radio", showInline="true")


def _add(parent: Xml.Element, tag: str, **attributes: str) -> Xml.Element:
    return Xml.SubElement(parent, tag, attributes)
