"""Files that are missing, not UTF-8, not JSON or cut off: one error each, with its place."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from components.datasets.data_files import (
    read_bytes,
    read_jsonl,
    read_lines,
    require_file,
    require_folder,
    sha256_of_files,
)
from components.datasets.json_fields import (
    as_list,
    as_record,
    optional_text,
    optional_texts,
    read_records,
    required_id,
    required_text,
    required_texts,
)
from components.datasets.json_files import read_json
from components.errors import DataError

WANTED = "a test file"


def written(folder: Path, content: bytes | str, name: str = "file") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


class TestMissing:
    def test_missing_folder_error_lists_expected_and_found_files(self, tmp_path: Path) -> None:
        written(tmp_path, "", "neighbour.txt")
        with pytest.raises(DataError, match=r"80000_docs: does not exist, expected a corpus.*neighbour\.txt"):
            require_folder(tmp_path / "80000_docs", "a corpus")

    def test_missing_file_error_names_the_nearest_existing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=f"does not exist.*The folder {tmp_path} contains: nothing"):
            require_file(tmp_path / "a" / "b" / "split.json", WANTED)

    def test_folder_and_file_are_not_accepted_for_each_other(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="does not exist"):
            require_file(tmp_path, WANTED)
        with pytest.raises(DataError, match="does not exist"):
            require_folder(written(tmp_path, ""), WANTED)

    def test_missing_file_error_lists_at_most_eight_names(self, tmp_path: Path) -> None:
        for number in range(20):
            written(tmp_path, "", f"{number:02}")
        with pytest.raises(DataError, match=r"00, 01, .*07 and 12 more"):
            require_file(tmp_path / "x", WANTED)


class TestLines:
    def test_lines_end_at_newlines_and_are_numbered_from_one(self, tmp_path: Path) -> None:
        file = written(tmp_path, "一\r\n\n二\u2028三\n四")
        assert list(read_lines(file, WANTED)) == [(1, "一"), (2, ""), (3, "二\u2028三"), (4, "四")]

    def test_byte_order_mark_of_a_text_file_is_left_out(self, tmp_path: Path) -> None:
        lines = read_lines(written(tmp_path, "\ufeffone\n\ufefftwo".encode()), WANTED)
        assert list(lines) == [(1, "one"), (2, "\ufefftwo")]

    def test_empty_file_has_no_lines(self, tmp_path: Path) -> None:
        assert list(read_lines(written(tmp_path, ""), WANTED)) == []

    def test_invalid_utf8_error_has_byte_offset_and_line(self, tmp_path: Path) -> None:
        file = written(tmp_path, "好\n你".encode() + b"\xff\n")
        with pytest.raises(DataError, match=r"file: byte 0xff at byte offset 7 \(line 2\) is not UTF-8"):
            list(read_lines(file, WANTED))


class TestJsonLines:
    def test_blank_json_lines_are_numbered_but_not_yielded(self, tmp_path: Path) -> None:
        assert list(read_jsonl(written(tmp_path, '{"a":1}\n\n[]\n'), WANTED)) == [(1, {"a": 1}), (3, [])]

    def test_invalid_json_line_error_has_line_and_byte(self, tmp_path: Path) -> None:
        file = written(tmp_path, '{}\n{"名": }\n')
        with pytest.raises(DataError, match=r"file, line 2: is not JSON at byte 8 of the line \(Expecting value\)"):
            list(read_jsonl(file, WANTED))

    def test_json_records_are_returned_with_their_line(self, tmp_path: Path) -> None:
        file = written(tmp_path, '{"a":1}\n[]\n')
        records = read_records(file, WANTED)
        assert next(records) == (f"{file}, line 1", {"a": 1})
        with pytest.raises(DataError, match=r"line 2: got a list, expected an object"):
            next(records)


RECORDS = [{"ID": "一", "text": "甲\\u4e59"}, {"ID": "二", "n": [1, 2.5, None, True]}, {"ID": "三", "text": "丙"}]


class TestJson:
    def test_whole_json_file_is_read(self, tmp_path: Path) -> None:
        assert read_json(written(tmp_path, json.dumps(RECORDS)), WANTED) == (RECORDS, False)

    def test_truncated_list_error_counts_the_complete_records(self, tmp_path: Path) -> None:
        content = json.dumps(RECORDS, ensure_ascii=False).encode()
        begins = content.index('{"ID": "三"'.encode())
        cut = content[: begins + 12]
        message = f"cut off at byte offset {len(cut)}, .* {begins}; the 2 records .* dataset.accept_truncated=true"
        with pytest.raises(DataError, match=message):
            read_json(written(tmp_path, cut), WANTED, accept_truncated=False)
        with pytest.raises(DataError, match=r"Fetch the file again\.$"):
            read_json(written(tmp_path, cut), WANTED)

    @pytest.mark.parametrize("ascii_only", [True, False])
    def test_list_truncated_anywhere_returns_its_complete_records(self, tmp_path: Path, ascii_only: bool) -> None:
        content = json.dumps(RECORDS, ensure_ascii=ascii_only).encode()
        ends = [len(json.dumps(RECORDS[:n], ensure_ascii=ascii_only).encode()) - 1 for n in (1, 2, 3)]
        for length in range(1, len(content)):
            file = written(tmp_path, content[:length])
            with pytest.raises(DataError, match="cut off"):
                read_json(file, WANTED)
            assert read_json(file, WANTED, accept_truncated=True) == (RECORDS[: sum(e <= length for e in ends)], True)

    def test_object_of_lists_truncated_anywhere_returns_complete_records(self, tmp_path: Path) -> None:
        content = json.dumps({"first": RECORDS, "second": RECORDS[:2]}, indent=1, ensure_ascii=False).encode()
        seen = set()
        for length in range(1, len(content)):
            value, cut_off = read_json(written(tmp_path, content[:length]), WANTED, accept_truncated=True)
            assert cut_off
            assert isinstance(value, dict)
            assert value.get("first", []) == RECORDS[: len(value.get("first", []))]
            seen.add(sum(map(len, value.values())))
        assert seen == {0, 1, 2, 3, 4, 5}

    @pytest.mark.parametrize("content", ["[{}, {]", '[{"a": 1,}]', "[1] [2]", '{"a": [1 2]}', "[{} {}]"])
    def test_json_damaged_in_the_middle_is_rejected(self, tmp_path: Path, content: str) -> None:
        with pytest.raises(DataError, match=r"not JSON at byte offset \d+ \(line 1\)"):
            read_json(written(tmp_path, content), WANTED, accept_truncated=True)

    def test_text_after_the_json_is_not_truncation(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"not JSON .* Extra data"):
            read_json(written(tmp_path, "[{}, {}] 0"), WANTED, accept_truncated=True)

    def test_truncated_object_keeps_lists_after_other_values(self, tmp_path: Path) -> None:
        cut = written(tmp_path, '{"a": [1], "n": {"x": 5}, "b": [1, 2, {"')
        with pytest.raises(DataError, match="the 3 records before it are complete"):
            read_json(cut, WANTED)
        assert read_json(cut, WANTED, accept_truncated=True) == ({"a": [1], "n": {"x": 5}, "b": [1, 2]}, True)

    def test_byte_order_mark_of_a_json_file_is_left_out(self, tmp_path: Path) -> None:
        assert read_json(written(tmp_path, b"\xef\xbb\xbf[1]"), WANTED) == ([1], False)

    @pytest.mark.parametrize(
        ("text", "encoding", "named"),
        [("退款需要三天。", "gb18030", "GB18030"), ("Eine Gebühr für Bücher", "cp1252", "WINDOWS-1252")],
    )
    def test_invalid_utf8_error_names_the_probable_encoding(
        self, text: str, encoding: str, named: str, tmp_path: Path
    ) -> None:
        (tmp_path / "a.txt").write_bytes(text.encode(encoding))
        with pytest.raises(DataError, match=f"it may be {named}: iconv -f {named} -t UTF-8"):
            list(read_lines(tmp_path / "a.txt", "text"))

    def test_damaged_utf8_has_no_other_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes("退款需要三天。".encode() * 20 + b"\xff")
        with pytest.raises(DataError, match=r"Convert the file, or fetch it again"):
            list(read_lines(tmp_path / "a.txt", "text"))

    def test_json_file_of_invalid_utf8_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"byte 0xff at byte offset 3 \(line 2\)"):
            read_json(written(tmp_path, b'[\n"\xff"]'), WANTED, accept_truncated=True)

    def test_truncated_crud_rag_file_is_read_up_to_the_cut(self, shared_data: Path) -> None:
        file = shared_data / "crud_rag" / "event_summary_truncated.json"
        with pytest.raises(
            DataError, match=r"cut off at byte offset 4145152.* the 1328 records before it are complete"
        ):
            read_json(file, WANTED)
        value, cut_off = read_json(file, WANTED, accept_truncated=True)
        assert cut_off
        assert isinstance(value, list)
        assert len(value) == 1328


class TestFields:
    def test_optional_texts_are_read_without_blanks(self) -> None:
        record = {"one": "甲", "many": ["甲", " ", "乙"], "null": None}
        assert optional_texts(record, "one", "here") == ("甲",)
        assert optional_texts(record, "many", "here") == ("甲", "乙")
        assert optional_texts(record, "null", "here") == optional_texts(record, "none", "here") == ()
        assert optional_text(record, "null", "here") == optional_text(record, "none", "here") == ""

    def test_missing_field_error_names_the_place_and_the_fields(self) -> None:
        with pytest.raises(DataError, match=r"file, record 3: no field 'question'\. Its fields are: a, b"):
            required_text({"a": 1, "b": 2}, "question", "file, record 3")

    def test_fields_of_wrong_types_are_rejected(self) -> None:
        with pytest.raises(DataError, match="field 'a': got a number, expected a string"):
            required_text({"a": 1}, "a", "here")
        with pytest.raises(DataError, match="field 'a': got a number, expected a string or a list of strings"):
            optional_texts({"a": ["x", 1]}, "a", "here")
        with pytest.raises(DataError, match="here: got a list, expected an object"):
            as_record([], "here")
        with pytest.raises(DataError, match="here: got a null, expected a list"):
            as_list(None, "here")

    @pytest.mark.parametrize("record", [{}, {"answer": ""}, {"answer": []}, {"answer": [" ", "\n"]}])
    def test_item_without_a_reference_is_rejected(self, record: dict[str, object]) -> None:
        with pytest.raises(DataError, match="here: the item has no reference, because field 'answer'"):
            required_texts(record, "answer", "here")


class TestFingerprint:
    def test_files_fingerprint_depends_only_on_names_and_contents(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        one, two = written(tmp_path, "1", "one"), written(tmp_path, "2", "two")
        copy = written(tmp_path / "elsewhere", "1", "copy")
        known = sha256_of_files({"a": one, "b": two}, WANTED)
        assert known == sha256_of_files({"b": two, "a": copy}, WANTED)
        assert known != sha256_of_files({"a": two, "b": one}, WANTED)
        assert known != sha256_of_files({"a": one, "c": two}, WANTED)
        assert len(known) == 64

    def test_fingerprint_of_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"does not exist, expected a test file"):
            sha256_of_files({"a": tmp_path / "a"}, WANTED)


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (DEEP, "lists or objects are nested too deeply"),
        ("9" * 5_000, "a number has too many digits"),
        (r'"so \ud83d and on"', r"\\ud83d is half of a character"),
    ],
    ids=["deep", "long number", "half a character"],
)
def test_unrepresentable_json_is_an_error_with_its_place(tmp_path: Path, value: str, message: str) -> None:
    lines = written(tmp_path, f'{{"a": 1}}\n{{"a": {value}}}\n')
    with pytest.raises(DataError, match=rf"file, line 2: .*{message}"):
        list(read_jsonl(lines, WANTED))
    whole = written(tmp_path, f'{{"a": {value}}}', "whole")
    with pytest.raises(DataError, match=rf"whole: .*{message}"):
        read_json(whole, WANTED)


def test_escaped_surrogate_pair_is_read_as_one_character(tmp_path: Path) -> None:
    file = written(tmp_path, r'{"a": "\ud83d\ude00", "b": "\\ud83d"}')
    assert [value for _, value in read_jsonl(file, WANTED)] == [{"a": "\U0001f600", "b": r"\ud83d"}]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": None}, "line 1, field 'id': is null"),
        ({"id": ""}, "line 1, field 'id': is blank"),
        ({"id": " \u3000"}, "line 1, field 'id': is blank"),
        ({"id": True}, "line 1, field 'id': got a boolean"),
        ({"_id": "1"}, "line 1: no field 'id'"),
    ],
)
def test_blank_boolean_and_missing_ids_are_rejected(record: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        required_id(record, "line 1")


def test_numeric_ids_become_strings(tmp_path: Path) -> None:
    assert [required_id({"id": value}, "line 1") for value in ("a", 7, "0")] == ["a", "7", "0"]
    assert required_id({"_id": "a"}, "line 1", "_id") == "a"


@pytest.mark.parametrize("require", [require_file, require_folder])
def test_overlong_path_is_an_error(tmp_path: Path, require: Callable[[Path, str], Path]) -> None:
    with pytest.raises(DataError, match=r"cannot be read \(File name too long\), expected questions"):
        require(tmp_path / ("x" * 300), "questions")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('[\n  {"id": "1"}\n]', "The file is JSON over several lines"),
        ('{\n  "id": "1"\n}', "The file is JSON over several lines"),
        ("\ufeffid;question\n1;When?", "If the file has another format, such as a table, convert it"),
        ('{"id": "1",}', "Correct or remove the line"),
    ],
)
def test_jsonl_file_of_another_format_is_an_error_with_advice(tmp_path: Path, text: str, advice: str) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=f"line 1: is not JSON at byte .*{advice}"):
        list(read_jsonl(tmp_path / "file", "records"))


@pytest.mark.parametrize(("content", "line", "offset"), [("ab\n".encode("utf-16-le"), 1, 1), (b"ab\nc\0d\n", 2, 4)])
def test_nul_bytes_in_a_line_are_refused(tmp_path: Path, content: bytes, line: int, offset: int) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=f"file, line {line}: contains a NUL byte at byte offset {offset}, as UTF-16"):
        list(read_lines(tmp_path / "file", "text"))


def test_repeated_json_keys_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": 2, "gold": {"a": 1, "a": 2}}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: an object has the key 'a' more than once"):
        list(read_jsonl(tmp_path / "a.jsonl", "records"))
    (tmp_path / "a.json").write_text('[{"id": 1, "id": 2}, {"id"', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.json: an object has the key 'id' more than once"):
        read_json(tmp_path / "a.json", "records", accept_truncated=True)


def test_pointer_of_git_lfs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1234\n")
    with pytest.raises(DataError, match="x: is a Git LFS pointer, expected documents"):
        list(read_lines(tmp_path / "x", "documents"))


def test_web_page_that_is_a_pointer_of_git_lfs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1234\n")
    with pytest.raises(DataError, match=r"x\.html: is a Git LFS pointer"):
        read_bytes(tmp_path / "x.html", "documents")
