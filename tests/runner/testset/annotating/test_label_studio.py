"""Tasks that Label Studio shows, and exports that come back."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from components.errors import DataError
from components.records import Evidence
from runner.testset.annotating.annotation_files import AnnotatorFrom, read_annotations
from runner.testset.annotating.annotations import AnnotationSet, AnnotatorCheck
from runner.testset.annotating.annotator_wording import WORDINGS, Language
from runner.testset.annotating.label_studio_tasks import labelling_config, make_tasks
from runner.testset.annotating.resolving import resolve_annotations
from tests.runner.testset.annotating.exports import (
    Task,
    add,
    annotation,
    choose,
    rate,
    results_of,
    untouched,
    value_of,
    write,
)
from tests.runner.testset.small import SAMPLES, small_set

SET = small_set()
SDK = "RAG_GRID_LABEL_STUDIO_PYTHON"


def read(file: Path, annotator_from: AnnotatorFrom = AnnotatorFrom.COMPLETED_BY) -> AnnotationSet:
    return read_annotations([file], SET, annotator_from, accepts_parent=False)


@pytest.mark.parametrize("language", Language)
def test_label_studio_results_have_their_control_and_text(language: Language) -> None:
    config = ElementTree.fromstring(labelling_config(SAMPLES, SET, WORDINGS[language]))
    controls = {own.attrib["name"]: own for own in config.iter() if "toName" in own.attrib}
    texts = {own.attrib["name"]: own.attrib["value"] for own in config.iter("Text")}
    tasks = list(make_tasks(SAMPLES, SET))
    assert [task["data"]["id"] for task in tasks] == [sample.id for sample in SAMPLES]
    for task in tasks:
        assert {value.removeprefix("$") for value in texts.values()} <= task["data"].keys()
        for result in task["predictions"][0]["result"]:
            control = controls[result["from_name"]]
            assert control.attrib["toName"] == result["to_name"]
            assert control.tag.lower() == result["type"]
            if result["type"] == "labels":
                shown, value = task["data"][texts[result["to_name"]].removeprefix("$")], result["value"]
                assert shown[value["start"] : value["end"]] == value["text"]
    choices = [own.attrib.get("alias", own.attrib["value"]) for own in controls["topic"]]
    assert choices == ["roads", "towers", "water"]


def test_topic_with_a_control_character_is_rejected() -> None:
    odd = replace(SET, samples=(replace(SAMPLES[0], topic="a\x00b"),))
    with pytest.raises(DataError, match=r"the topic 'a\\x00b' contains a control character"):
        labelling_config(odd.samples, odd, WORDINGS[Language.EN])


def test_unchanged_label_studio_export_changes_no_sample(tmp_path: Path) -> None:
    found = read(write(tmp_path / "export.json", untouched(SET)))
    assert [own.gold for own in found.annotations] == [sample.gold for sample in SAMPLES]
    assert resolve_annotations(SET, found.annotations) == (SAMPLES, (), ())


def test_every_label_studio_field_is_imported(tmp_path: Path) -> None:
    tasks = untouched(SET, {"id": 7, "email": "ann@example.org"})
    first = tasks[0]
    value_of(first, "question")["text"] = ["When did it open?"]
    value_of(first, "references")["text"] = ["1932", "In 1932"]
    value_of(first, "topic")["choices"] = ["towers"]
    add(first, "gold_1", "labels", {"start": 33, "end": 39, "text": "It was", "labels": ["gold"]}, "document_1")
    add(first, "mine", "number", {"number": 3})
    choose(first, "check_answer", "yes")
    choose(first, "check_topic", "否")
    rate(first, 3)
    found = read(write(tmp_path / "export.json", tasks))
    own = found.annotations[0]
    assert (own.annotator, own.rating, own.question) == ("ann@example.org", 3, "When did it open?")
    assert own.checks == {AnnotatorCheck.ANSWER: True, AnnotatorCheck.TOPIC: False}
    assert own.references == ("1932", "In 1932")
    assert own.topic == "towers"
    assert own.gold == (*SAMPLES[0].gold, Evidence("bridge", 33, 39))
    assert found.others == {"mine"}
    edits = resolve_annotations(SET, found.annotations).edits
    assert [edit.field for edit in edits] == ["question", "references", "gold", "topic"]
    assert {edit.by for edit in edits} == {("ann@example.org",)}


def test_utf_16_offsets_of_old_label_studio_are_converted(tmp_path: Path) -> None:
    tasks = untouched(SET)
    for task in tasks:
        for result in results_of(task):
            if result["type"] == "labels":
                text = task["data"][result["to_name"]]
                for edge in ("start", "end"):
                    result["value"][edge] = len(text[: result["value"][edge]].encode("utf-16-le")) // 2
    found = read(write(tmp_path / "export.json", tasks))
    assert resolve_annotations(SET, found.annotations) == (SAMPLES, (), ())


def test_rating_without_a_prediction_changes_no_field(tmp_path: Path) -> None:
    tasks = untouched(SET)
    results_of(tasks[0]).clear()
    rate(tasks[0], 5)
    own = read(write(tmp_path / "export.json", tasks)).annotations[0]
    assert (own.rating, own.question, own.references, own.gold, own.problems) == (5, None, None, None, ())


def removed(control: str) -> Callable[[Task], None]:
    def change(task: Task) -> None:
        task["annotations"][0]["result"] = [own for own in results_of(task) if own["from_name"] != control]

    return change


def moved(task: Task) -> None:
    value_of(task, "gold_1")["start"] += 1


def unsaid(task: Task) -> None:
    value_of(task, "gold_1").update(start=38, text=None)


def other_topic(task: Task) -> None:
    value_of(task, "topic")["choices"] = ["bread"]


def second_question(task: Task) -> None:
    value_of(task, "question")["text"].append("And?")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (removed("gold_1"), "no mark is left"),
        (removed("references"), "no answer is left"),
        (removed("question"), "got 0 questions, expected one"),
        (second_question, "got 2 questions, expected one"),
        (moved, r"\[36, 43\) of document 'tower' \('建于1889年。'\) does not match the text there"),
        (unsaid, r"\(without its text\) matches several spans"),
        (other_topic, "this set has no topic 'bread'"),
    ],
)
def test_unusable_annotation_is_a_conflict_without_changes(
    change: Callable[[Task], None], problem: str, tmp_path: Path
) -> None:
    tasks = untouched(SET)
    value_of(tasks[2], "question")["text"] = ["何时建塔?"]
    change(tasks[2])
    found = resolve_annotations(SET, read(write(tmp_path / "export.json", tasks)).annotations)
    assert found.samples == SAMPLES
    ((sample, detail),) = [(conflict.sample, conflict.detail) for conflict in found.conflicts]
    assert sample == "s3"
    assert re.search(problem, detail)


def test_skipped_draft_and_untouched_tasks_are_counted(tmp_path: Path) -> None:
    tasks = untouched(SET)
    tasks[0]["annotations"][0]["was_cancelled"] = True
    tasks[1]["annotations"] = []
    tasks[1]["drafts"] = [{"result": []}]
    tasks[2]["annotations"] = []
    found = read(write(tmp_path / "export.json", tasks))
    assert (len(found.annotations), found.n_skipped, found.n_drafts, found.n_untouched) == (2, 1, 1, 1)


def test_label_studio_relation_is_ignored(tmp_path: Path) -> None:
    tasks = untouched(SET)
    results_of(tasks[0]).append({"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"})
    assert len(read(write(tmp_path / "export.json", tasks)).annotations) == 5


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([{"id": 1, "question": "Why?", "annotator": 1, "annotation_id": 3}], "this is JSON-MIN"),
        ([{"data": {}, "predictions": []}], "tasks without annotations yet"),
        ([{"a": 1}], "a task without annotations, with the fields a"),
        ({"tasks": []}, "got a JSON object, expected a list"),
        ([3], "got a number, expected an object"),
        ([{"data": {"id": "s1"}, "annotations": []}], "no field 'version'"),
    ],
)
def test_file_that_is_not_a_label_studio_export_is_refused(tasks: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / "export.json", tasks))


def set_data(name: str, value: str) -> Callable[[list[Task]], None]:
    return lambda tasks: tasks[1]["data"].update({name: value})


def add_result(kind: str, value: object) -> Callable[[list[Task]], None]:
    return lambda tasks: add(tasks[1], kind, kind, {kind.partition("_")[0]: value})


def twice(tasks: list[Task]) -> None:
    tasks[1]["annotations"].append(annotation(results_of(tasks[1])))


def nobody(tasks: list[Task]) -> None:
    tasks[1]["annotations"][0]["completed_by"] = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_data("version", "f" * 64), "task 2: annotates version 'ffffffffffff' of a set, expected "),
        (set_data("documents", "road"), "task 2: shows the document 'road', which is not in this set"),
        (set_data("id", "s9"), "task 2: annotates the sample 's9', which is not in this set"),
        (add_result("rating", 6), "task 2: got the rating 6, expected 1 to 5"),
        (add_result("rating", "5"), "task 2: got the rating '5', expected 1 to 5"),
        (
            lambda tasks: [add_result("rating", stars)(tasks) for stars in (1, 5)],
            "task 2: got 2 ratings, expected one",
        ),
        (twice, "'1' annotated the sample 's2' twice"),
        (nobody, "task 2: an annotation lacks its annotator"),
    ],
)
def test_label_studio_annotations_of_another_set_are_refused(
    change: Callable[[list[Task]], None], message: str, tmp_path: Path
) -> None:
    tasks = untouched(SET)
    change(tasks)
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / "export.json", tasks))


def test_annotators_with_the_same_name_are_rejected(tmp_path: Path) -> None:
    files = [write(tmp_path / name, untouched(SET, 1)) for name in ("ann.json", "bo.json")]
    with pytest.raises(DataError, match=r"'1' annotated the sample 's1' here and in .*ann.json. If these are two"):
        read_annotations(files, SET, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    both = read_annotations(files, SET, AnnotatorFrom.FILE, accepts_parent=False)
    assert {own.annotator for own in both.annotations} == {"ann", "bo"}
    (tmp_path / "other").mkdir()
    files.append(write(tmp_path / "other" / "ann.json", untouched(SET, 1)))
    with pytest.raises(DataError, match="names the same annotator 'ann' as"):
        read_annotations(files, SET, AnnotatorFrom.FILE, accepts_parent=False)


def test_import_keeps_ratings_of_the_previous_version(tmp_path: Path) -> None:
    file = write(tmp_path / "export.json", untouched(SET))
    after = SET.next_version(SAMPLES[1:], (), {})
    found = read_annotations([file], after, AnnotatorFrom.FILE, accepts_parent=True)
    assert (len(found.annotations), found.n_of_removed) == (4, 1)
    with pytest.raises(DataError, match="annotates version"):
        read_annotations([file], after, AnnotatorFrom.FILE, accepts_parent=False)


def test_marks_of_the_previous_version_are_read_in_its_documents(tmp_path: Path) -> None:
    file = write(tmp_path / "export.json", untouched(SET))
    fourth = replace(SAMPLES[3], gold=SAMPLES[3].gold[1:])
    after = SET.next_version([fourth], (), {})
    (own,) = read_annotations([file], after, AnnotatorFrom.FILE, accepts_parent=True).annotations
    assert set(own.gold or ()) == set(SAMPLES[3].gold)


CHECKED = """
import json, sys
from label_studio_sdk.label_interface import LabelInterface
config, tasks = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
interface = LabelInterface(config)
interface.validate()
for task in json.loads(tasks):
    assert interface.validate_task({"data": task["data"]}), task["data"]
    for own in [*task.get("predictions", []), *task.get("annotations", [])]:
        errors = interface.validate_prediction(own, return_errors=True)
        assert errors == [], errors
"""


@pytest.mark.parametrize("language", Language)
def test_label_studio_sdk_validates_the_exported_config(language: Language, tmp_path: Path) -> None:
    """The SDK needs another NumPy than this project, so a separate environment has it. This variable names it."""
    python = os.environ.get(SDK)
    if not python:
        pytest.skip(f"{SDK} names no Python that has label-studio-sdk")
    config = tmp_path / "config.xml"
    config.write_text(labelling_config(SAMPLES, SET, WORDINGS[language]), encoding="utf-8")
    exported = untouched(SET)
    rate(exported[0], 4)
    for check in AnnotatorCheck:
        choose(exported[0], f"check_{check}", "no")
    tasks = write(tmp_path / "tasks.json", [*make_tasks(SAMPLES, SET), *exported])
    done = subprocess.run([python, "-c", CHECKED, config, tasks], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    broken = write(tmp_path / "broken.json", json.loads(tasks.read_text("utf-8").replace('"roads"]', '"bread"]')))
    assert subprocess.run([python, "-c", CHECKED, config, broken], capture_output=True).returncode == 1
