"""The commands, from a set to its next versions."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from runner.annotate import main
from runner.results.set_files import read_testset, write_testset
from runner.testset.annotating.annotator_wording import WORDINGS, Language
from runner.testset.annotating.gating import configured_gates
from runner.testset.annotating.sheet import write_sheet
from tests.runner.sweeping import flip_a_byte
from tests.runner.testset.annotating.exports import Task, choose, rate, untouched, value_of, write
from tests.runner.testset.small import SAMPLES, small_set

SET = small_set()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_testset(tmp_path / "set", SET)
    return tmp_path / "set"


def annotate(*words: object) -> int:
    return main([str(word) for word in words])


def exported(tmp_path: Path, folder: Path) -> list[Task]:
    """Return the written tasks as Label Studio exports them after all predictions were submitted."""
    assert annotate("export", folder, "--to", tmp_path / "tasks.json") == 0
    written = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    tasks = untouched(SET)
    assert [task["data"] for task in tasks] == [task["data"] for task in written]
    return tasks


def test_unchanged_import_keeps_the_set_version(tmp_path: Path, folder: Path) -> None:
    file = write(tmp_path / "export.json", exported(tmp_path, folder))
    assert annotate("import", folder, file, "--out", tmp_path / "new") == 0
    assert read_testset(tmp_path / "new").key == SET.key
    for name in ("samples.jsonl", "documents.jsonl", "manifest.json"):
        assert (tmp_path / "new" / name).read_bytes() == (folder / name).read_bytes()


def test_single_edit_makes_a_new_set_version(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = exported(tmp_path, folder)
    value_of(tasks[2], "references")["text"] = ["1889年 \U0001f5fc"]
    file = write(tmp_path / "export.json", tasks)
    assert annotate("import", folder, file, "--out", tmp_path / "new") == 0
    new = read_testset(tmp_path / "new")
    assert (new.key != SET.key, new.parent) == (True, SET.key)
    (edit,) = new.edits
    assert (edit.sample, edit.field, edit.after, edit.by) == ("s3", "references", ["1889年 \U0001f5fc"], ("1",))
    assert f"version {new.key[:12]} in {tmp_path / 'new'}, derived from {SET.key[:12]}" in capsys.readouterr().out
    assert annotate("import", tmp_path / "new", file, "--out", tmp_path / "newer") == 2
    assert "annotates version" in capsys.readouterr().err
    assert not (tmp_path / "newer").exists()


def test_repeated_import_of_the_same_files_is_already_done(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, others = exported(tmp_path, folder), untouched(SET, 2)
    value_of(tasks[0], "question")["text"] = ["Why?"]
    for both in (tasks, others):
        value_of(both[1], "question")["text"] = ["According to the text, how long is it?"]
    files = [write(tmp_path / f"{name}.json", own) for name, own in (("ann", tasks), ("bo", others))]
    again = ("import", folder, *files, "--annotator-from", "file", "--out", tmp_path / "new")
    assert annotate(*again) == 1
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "new").iterdir()}
    assert {path.name for path in before} >= {"rejected.jsonl", "conflicts.jsonl", "manifest.json"}
    capsys.readouterr()
    assert annotate(*again) == 0
    key = read_testset(tmp_path / "new").key
    assert capsys.readouterr().out == f"up to date: {tmp_path / 'new'} already has version {key[:12]}\n"
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "new").iterdir()} == before


@pytest.mark.parametrize("change", ["another annotation", "a note beside it", "a byte", "a file is missing"])
def test_repeated_import_with_a_different_result_is_refused(
    change: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, new = exported(tmp_path, folder), tmp_path / "new"
    value_of(tasks[2], "references")["text"] = ["1889"]
    file = write(tmp_path / "export.json", tasks)
    assert annotate("import", folder, file, "--out", new) == 0
    if change == "another annotation":
        value_of(tasks[2], "references")["text"] = ["1890"]
        file = write(tmp_path / "export.json", tasks)
    elif change == "a note beside it":
        (new / "note.txt").write_text("mine")
    elif change == "a byte":
        flip_a_byte(new / "samples.jsonl")
    else:
        (new / "edits.jsonl").unlink()
    before = {path.name: path.read_bytes() for path in new.iterdir()}
    assert annotate("import", folder, file, "--out", new) == 2
    assert "already exists" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in new.iterdir()} == before


def test_import_reports_and_stores_conflicts_and_rejections(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, others = exported(tmp_path, folder), untouched(SET, 2)
    value_of(tasks[0], "question")["text"] = ["Why?"]
    for both in (tasks, others):
        value_of(both[1], "question")["text"] = ["According to the text, how long is it?"]
    files = [write(tmp_path / f"{name}.json", own) for name, own in (("ann", tasks), ("bo", others))]
    assert annotate("import", folder, *files, "--annotator-from", "file", "--out", tmp_path / "new") == 1
    told = capsys.readouterr().out
    assert "unchanged: s1: question: ann / bo disagree" in told
    assert "removed: s2: form: " in told
    assert "10 annotations, 0 fields changed, 1 conflicts, 1 samples rejected" in told
    assert "--prefer ANNOTATOR lets one of them decide" in told
    new = read_testset(tmp_path / "new")
    assert [sample.id for sample in new.samples] == ["s1", "s3", "s4", "s5"]
    assert new.samples[0] == SAMPLES[0]
    (rejected,) = map(json.loads, (tmp_path / "new/rejected.jsonl").read_text("utf-8").splitlines())
    assert (rejected["id"], rejected["gate"]) == ("s2", "form")
    (conflict,) = map(json.loads, (tmp_path / "new/conflicts.jsonl").read_text("utf-8").splitlines())
    assert conflict["sample"] == "s1"
    assert (
        annotate("import", folder, *files, "--annotator-from", "file", "--prefer", "bo", "--out", tmp_path / "b") == 1
    )
    assert "0 conflicts" in capsys.readouterr().out


def test_gates_are_read_from_the_provenance_of_the_set() -> None:
    everything = configured_gates(SET)
    assert "form" in everything
    assert "location" not in everything
    assert all(gate.llm is None for gate in everything.values())
    form = {
        "_target_": "components.testset.gates.form.Form",
        "shortest_question": 1,
        "longest_question": 2,
        "longest_reference": 3,
        "only_tagged": [],
    }
    asking = {"_target_": "components.testset.gates.answerable.Answerable", "llm": {}}
    made = replace(SET, about={"configuration": {"gates": {"form": form, "answerable": asking}}})
    assert [(name, vars(gate)["longest_question"]) for name, gate in configured_gates(made).items()] == [("form", 2)]


def test_annotation_sheets_are_exported_and_imported(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--format", "csv", "--language", "zh")
    assert annotate("export", folder, "--to", tmp_path / "sheet.csv", *words) == 0
    assert (tmp_path / "sheet.csv").read_text("utf-8") == write_sheet(SAMPLES, SET, WORDINGS[Language.ZH]) + "\n"
    assert annotate("import", folder, tmp_path / "sheet.csv", "--out", tmp_path / "new") == 0
    assert "left out: 5 not annotated" in capsys.readouterr().out


def rated(tmp_path: Path, folder: Path) -> list[Path]:
    files = []
    for name, stars in (("ann", (5, 4, 4, 2, 5)), ("bo", (4, 4, 5, 3, 3))):
        tasks = exported(tmp_path, folder)
        for task, own in zip(tasks, stars, strict=True):
            rate(task, own)
            choose(task, "check_answer", "yes" if own > 2 else "no")
        files.append(write(tmp_path / f"{name}.json", tasks))
    return files


def test_accept_reports_acceptance_by_topic_and_task(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = rated(tmp_path, folder)
    words = (*files, "--annotator-from", "file", "--csv", tmp_path / "accepted.csv")
    assert annotate("accept", folder, *words, "--write", tmp_path / "good") == 0
    assert "wrote the 3 accepted samples" in capsys.readouterr().out
    assert (tmp_path / "accepted.csv").read_text("utf-8").splitlines()[1].startswith("all,all,5,5,3,0.6")
    good = read_testset(tmp_path / "good")
    assert [sample.id for sample in good.samples] == ["s1", "s2", "s3"]
    assert (good.parent, good.about["accepted_at"]) == (SET.key, 4)
    assert annotate("accept", tmp_path / "good", *words, "--at", 3, "--write", tmp_path / "better") == 0
    assert "4 of samples that are no longer in the set" in capsys.readouterr().out


def test_agree_reports_the_agreement_of_annotators(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = rated(tmp_path, folder)
    words = ("--annotator-from", "file", "--json", tmp_path / "agreement.json")
    assert annotate("agree", folder, *files, *words) == 0
    told = capsys.readouterr().out
    assert "Agreement of 2 annotators" in told
    assert "ann and bo" in told
    found = json.loads((tmp_path / "agreement.json").read_text("utf-8"))
    assert found["alphas"]["rating"]["n_units"] == 5
    assert found["marks"]["f1"] == 1.0
    assert annotate("agree", folder, files[0]) == 2
    assert "got annotations of 1 annotators, expected at least 2" in capsys.readouterr().err


def test_split_writes_all_parts_or_none(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("split", folder, "--sizes", "train=3", "test=2", "--out", tmp_path / "parts")
    write, before = Path.write_bytes, sorted(tmp_path.iterdir())

    def fill_the_disk(path: Path, content: bytes) -> int:
        if path.parent.name == "test":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", fill_the_disk)
        assert annotate(*command) == 2
    assert f"{tmp_path / 'parts'}: cannot be written (No space left on device)" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
    assert annotate(*command) == 0


def test_split_writes_the_parts_of_a_set(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate("split", folder, "--sizes", "train=3", "test=2", "--out", tmp_path / "parts") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["train", "3.0", "4", "1"] in rows
    assert annotate("split", folder, "--sizes", "train=3", "test=2", "--out", tmp_path / "parts") == 2
    parts = [read_testset(tmp_path / "parts" / name) for name in ("train", "test")]
    assert [len(part.samples) for part in parts] == [4, 1]
    assert {part.parent for part in parts} == {SET.key}
    assert [part.about["part"] for part in parts] == ["train", "test"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "SET", "--to", "t.json", "--per-cell", "0"], "--per-cell: got 0"),
        (["export", "SET", "--to", "t.xml"], "expected a file that ends in .json for --format label-studio"),
        (["export", "SET", "--to", "t.json", "--format", "csv"], "ends in .csv for --format csv"),
        (["accept", "SET", "EXPORT"], "got 5 annotations without a rating"),
        (["split", "SET", "--out", "p", "--sizes", "a=1", "a=2"], "got 'a=2', expected NAME=SHARE"),
        (["split", "SET", "--out", "p", "--sizes", "../a=1"], "got '../a=1', expected"),
        (["split", "SET", "--out", "p", "--sizes", "a=x"], "got 'a=x', expected"),
        (
            ["split", "SET", "--out", "p", "--sizes", *(f"a{n}=1" for n in range(6))],
            "got 6 parts, but these 5 samples form only 2 groups",
        ),
        (["export", "NONE", "--to", "t.json"], "does not exist"),
        (["import", "SET", "EXPORT", "--out", "n", "--prefer", "cy"], "--prefer: got 'cy', expected one of"),
        (["import", "SET", "EMPTY", "--out", "n"], ": no annotations found"),
    ],
)
def test_invalid_annotation_commands_give_one_clear_error(
    words: list[str], message: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {
        "SET": str(folder),
        "EXPORT": str(write(tmp_path / "export.json", untouched(SET))),
        "EMPTY": str(write(tmp_path / "empty.json", [])),
    }
    before = sorted(tmp_path.iterdir())
    assert (
        main([places.get(word, str(tmp_path / word) if word in ("p", "t.json", "n") else word) for word in words]) == 2
    )
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_accept_without_highly_rated_samples_is_an_error(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = exported(tmp_path, folder)
    rate(tasks[0], 2)
    file = write(tmp_path / "export.json", tasks)
    assert annotate("accept", folder, file, "--write", tmp_path / "good", "--csv", tmp_path / "a.csv") == 2
    assert "no sample is rated 4 or more" in capsys.readouterr().err
    assert not (tmp_path / "a.csv").exists()


def test_annotation_output_never_replaces_the_set_or_an_annotation(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "export.json", exported(tmp_path, folder))
    before = {path: path.read_bytes() for path in (file, *folder.iterdir())}
    assert annotate("export", folder, "--to", folder / "manifest.json") == 2
    assert f"{folder} is the annotated set, which never changes" in capsys.readouterr().err
    assert annotate("agree", folder, file, "--json", file) == 2
    assert f"{file}: would overwrite another file of this command" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (file, *folder.iterdir())} == before
