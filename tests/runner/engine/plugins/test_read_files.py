"""Files that a plugin reads count like its code: data in its folder, and files that its string constants name."""

import importlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.errors import ComponentError
from runner.engine.plugins import package_files
from runner.engine.plugins import plugin_loading as loading
from runner.engine.plugins.plugin_loading import allow_edits, load_plugins, require_unchanged
from runner.engine.plugins.snapshot import take_snapshot
from tests.runner.forgotten_packages import forget_packages
from tests.runner.sweeping import environment


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write(tmp_path, "reading/__init__.py", "")
    write(tmp_path, "reading/table.txt", "1")
    yield tmp_path
    forget_packages(["reading", "alone"])


def write(place: Path, name: str, text: str) -> None:
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def digest(package: str = "reading") -> str:
    importlib.invalidate_caches()
    return take_snapshot(package).digest


@pytest.mark.parametrize("name", ["table.txt", "data/deep/words", "a-b/table.json"])
def test_edited_data_file_in_the_package_changes_the_digest(name: str, place: Path) -> None:
    write(place, f"reading/{name}", "1")
    before = digest()
    write(place, f"reading/{name}", "2")
    assert digest() != before


THREAD = """    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(read, path).result()
"""


class TestUncoveredReads:
    CODE = "def read(path):\n    with open(path) as file:\n        return file.read()\n"

    def run(self, place: Path, path: Path, extra: str = "") -> list[str]:
        write(place, "reading/code.py", f"{self.CODE}{extra}")
        loading.take_uncovered_reads()  # reads by other tests in this process
        load_plugins(["reading"])
        importlib.import_module("reading.code").read(path)
        return loading.take_uncovered_reads()

    @pytest.mark.parametrize("name", ["prompts/brief.md", "work/brief.md"])
    def test_file_near_the_package_is_named_once(self, name: str, place: Path) -> None:
        write(place, name, "brief")
        (line,) = self.run(place, place / name)
        assert line.startswith(
            f"reading.code read {place / name}, which the keys of the store do not cover: after an edit"
        )
        importlib.import_module("reading.code").read(place / name)
        assert loading.take_uncovered_reads() == []

    @pytest.mark.parametrize("name", ["reading/table.txt", ".cache/x", "work/.hidden/x", "work/run.log"])
    def test_files_in_the_package_caches_and_logs_are_not_named(self, name: str, place: Path) -> None:
        write(place, name, "1")
        assert self.run(place, place / name) == []

    def test_files_of_one_folder_are_counted_in_one_line(self, place: Path) -> None:
        for number in range(12):
            write(place, f"prompts/{number}.md", "brief")
        read = "for number in range(12):\n    read(f'../prompts/{number}.md')\n"
        (line,) = self.run(place, place / "prompts/0.md", read)
        assert line.startswith(
            f"reading.code read 12 files in {place / 'prompts'}, which the keys of the store do not cover"
        )

    @pytest.mark.parametrize(
        "code",
        [
            "import sqlite3; sqlite3.connect(':memory:').close()",
            "open('scratch', 'w+').close(); read('scratch')",
            "import os; os.close(os.open('.', os.O_RDONLY))",
            "import contextlib\nwith contextlib.suppress(OSError):\n    read('missing')",
        ],
        ids=["memory", "written", "folder", "missing"],
    )
    def test_scratch_files_and_folders_are_not_named(self, code: str, place: Path) -> None:
        write(place, "work/input", "1")
        lines = self.run(place, place / "work/input", code)
        assert [line for line in lines if "work/input," not in line] == []

    def test_code_of_an_unregistered_module_ends_no_run(self, place: Path) -> None:
        write(place, "work/input", "1")
        code = "exec(\"with open('input') as file: file.read()\", {'__name__': 'reading.rules'})"
        assert any("work/input" in line for line in self.run(place, place / "reading/table.txt", code))

    def test_file_elsewhere_is_not_named(self, place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "x"
        elsewhere.write_text("1", encoding="utf-8")
        assert self.run(place, elsewhere) == []

    @pytest.mark.parametrize("method", ["content_hash", "fingerprint", ""])
    def test_class_that_identifies_its_files_covers_them(self, method: str, place: Path) -> None:
        write(place, "work/brief.md", "brief")
        extra = f"class Own:\n    def {method or 'other'}(self):\n        return 'x'\n"
        extra += "    def load(self):\n        return read('.'.join(['brief', 'md']))\nOwn().load()\n"
        assert len(self.run(place, place / "reading/table.txt", extra)) == (0 if method else 1)

    @pytest.mark.parametrize(("parent", "n_lines"), [("Parent", 0), ("DemoEn", 1)])
    def test_built_in_fingerprint_does_not_cover_files_read_by_a_subclass(
        self, parent: str, n_lines: int, place: Path
    ) -> None:
        write(place, "work/brief.md", "brief")
        extra = "from components.datasets.demo_en import DemoEn\n"
        extra += "class Parent:\n    def fingerprint(self):\n        return 'x'\n"
        extra += f"class Own({parent}):\n    def load(self):\n        return read('.'.join(['brief', 'md']))\n"
        assert len(self.run(place, place / "reading/table.txt", f"{extra}Own().load()\n")) == n_lines

    def test_files_that_an_inherited_fingerprint_reads_are_covered(self, place: Path) -> None:
        (place / "work" / "q.jsonl").write_text('{"id": "1"}', encoding="utf-8")
        own = "from components.datasets.jsonl import Jsonl\nclass Own(Jsonl):\n    def load(self):\n"
        write(place, "reading/code.py", f"{self.CODE}{own}        return read(self.samples)\n")
        loading.take_uncovered_reads()
        load_plugins(["reading"])
        component = importlib.import_module("reading.code").Own("", ".".join(["q", "jsonl"]))
        component.load()
        assert len(loading.take_uncovered_reads()) == 1
        loading._state.reported.clear()
        loading.identify_files(component, "fingerprint")
        component.load()
        assert loading.take_uncovered_reads() == []

    @pytest.mark.parametrize(("name", "n_lines"), [("docs/a.txt", 0), ("data/abbr.json", 1)])
    def test_user_code_of_a_built_in_class_may_read_hashed_files(self, name: str, n_lines: int, place: Path) -> None:
        """Our data set hashes its documents, then gives them to a parser of the user."""
        write(place, "work/docs/a.txt", "a")
        write(place, f"work/{name}", "b")
        write(place, "reading/code.py", self.CODE)
        loading.take_uncovered_reads()
        load_plugins(["reading"])
        ours: dict[str, Any] = {"__name__": "components.ours"}
        code = "class Ours:\n    def fingerprint(self):\n        return open('docs/a.txt').close() or ''\n"
        exec(f"{code}    def load(self, parse, path):\n        return parse(path)\n", ours)
        component = ours["Ours"]()
        loading.identify_files(component, "fingerprint")
        component.load(importlib.import_module("reading.code").read, name)
        assert len(loading.take_uncovered_reads()) == n_lines

    def test_files_behind_a_stored_hash_are_covered_for_every_class(self, place: Path) -> None:
        """Two embedders may have one model folder, which is hashed once."""
        write(place, "work/model/config.json", "{}")
        read = "    def load(self):\n        return read('/'.join(['model', 'config.json']))\n"
        write(place, "reading/code.py", f"{self.CODE}class Own:\n{read}")
        loading.take_uncovered_reads()
        load_plugins(["reading"])
        code = importlib.import_module("reading.code")
        ours: dict[str, Any] = {"__name__": "components.ours"}
        hashing = "from components.pretrained.model_folder import hash_folder\n"
        method = "    def content_hash(self):\n        return hash_folder('./model')\n"
        exec(f"{hashing}class First:\n{method}class Second:\n{method}", ours)
        component = type("Own", (code.Own, ours["Second"]), {"__module__": "reading.code"})()
        for each in (ours["First"](), component):
            loading.identify_files(each, "content_hash")
        component.load()
        assert loading.take_uncovered_reads() == []

    def test_hashed_files_are_covered_in_threads_but_not_for_others(self, place: Path) -> None:
        for name in ("work/brief.md", "work/other.md"):
            write(place, name, "brief")
        own = "class Own:\n    def fingerprint(self):\n        return read_in_thread('.'.join(['brief', 'md']))\n"
        write(place, "reading/code.py", f"{self.CODE}def read_in_thread(path):\n{THREAD}{own}")
        write(place, "reading/other.py", self.CODE)
        loading.take_uncovered_reads()
        load_plugins(["reading"])
        code = importlib.import_module("reading.code")
        assert loading.identify_files(code.Own(), "fingerprint") == "brief"
        code.read_in_thread("brief.md")
        code.read("brief.md")
        assert loading.take_uncovered_reads() == []
        code.read_in_thread("other.md")
        assert len(loading.take_uncovered_reads()) == 1
        importlib.import_module("reading.other").read("brief.md")
        assert len(loading.take_uncovered_reads()) == 1

    def test_metaclass_of_a_user_is_not_run(self, place: Path) -> None:
        write(place, "work/brief.md", "brief")
        extra = "class Meta(type):\n    def __getattr__(cls, name):\n        raise KeyError(name)\n"
        extra += "class Own(metaclass=Meta):\n    def load(self):\n        return read('.'.join(['brief', 'md']))\n"
        (line,) = self.run(place, place / "reading/table.txt", f"{extra}Own().load()\n")
        assert "brief.md, which the keys of the store do not cover" in line


@pytest.mark.parametrize("name", [".cache/x", ".hidden", "__pycache__/x", "x.pyo", "run.log", "x.txt~", "mlflow.db"])
def test_caches_and_logs_do_not_change_the_digest(name: str, place: Path) -> None:
    before = digest()
    write(place, f"reading/{name}", "1")
    assert digest() == before


def test_digest_ignores_results_in_the_package_folder_but_not_code(place: Path) -> None:
    before = digest()
    write(place, "reading/results/store/store.json", "{}")
    write(place, "reading/results/store/entries/x.npy", "1")
    write(place, "reading/results/20260101/sweep.json", "{}")
    assert digest() == before
    write(place, "reading/results/store/code.py", "")
    assert digest() != before


@pytest.mark.parametrize("limit", ["MAX_DATA_FILES", "MAX_DATA_BYTES"])
def test_large_data_files_are_identified_by_size_and_time(
    limit: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_files, limit, 0)
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"" if path.suffix == ".py" else pytest.fail(f"read {path}"))
    before = digest()
    assert digest() == before
    write(place, "reading/table.txt", "longer")
    assert digest() != before


@pytest.mark.parametrize(
    "text",
    [
        "TABLE = open('words.txt').read()",
        "from pathlib import Path\nTABLE = Path(__file__).with_name('words.txt')",
        "from pathlib import Path\nTABLE = Path(__file__).parent / 'deep' / 'words.txt'",
        "import os\nTABLE = os.path.join(os.path.dirname(__file__), 'deep', 'words.txt')",
        "TABLE = open('deep/words.txt').read()",
        "exec(open('rules.py').read())",
        "import runpy\nrunpy.run_path('rules.py')",
    ],
)
@pytest.mark.parametrize("where", ["", "work/"], ids=["beside the module", "in the working directory"])
def test_single_module_depends_on_files_it_names(text: str, where: str, place: Path) -> None:
    write(place, "alone.py", text)
    for name in ("words.txt", "deep/words.txt", "rules.py"):
        write(place, f"{where}{name}", "1")
    before = digest("alone")
    for name in ("words.txt", "deep/words.txt", "rules.py"):
        write(place, f"{where}{name}", "2")
    assert digest("alone") != before


def test_named_file_in_a_hidden_folder_does_not_change_the_digest(place: Path) -> None:
    for folder, name in ((place, ".cache/asked"), (place / "work", ".cache/deep/asked"), (place, "more/.x/asked")):
        constant = name if folder == place else f"{folder}/{name}"
        write(place, "alone.py", f"open({constant!r}, 'a')")
        write(folder, name, "1")
        before = digest("alone")
        write(folder, name, "12")
        assert digest("alone") == before


def test_code_loaded_by_path_adds_the_files_it_names(place: Path) -> None:
    write(place, "alone.py", "exec(open('rules.py').read())")
    write(place, "rules.py", "TABLE = open('words.txt').read()")
    write(place, "words.txt", "1")
    before = digest("alone")
    write(place, "words.txt", "2")
    assert digest("alone") != before


def test_files_that_a_module_does_not_name_keep_its_digest(place: Path) -> None:
    write(
        place, "alone.py", "TABLE = open('words.txt').read()\nNAMES = '', '.', '~nobody/x', 'deep', 'a\\0b', 'é' * 99"
    )
    write(place, "words.txt", "1")
    before = digest("alone")
    write(place, "deep/other.txt", "1")
    assert digest("alone") == before


COMPUTED = (
    "Path(__file__).with_suffix('.txt').read_text()",
    "(Path(__file__).parent / name).read_text()",
    "(Path(__file__).parent / f'{name}.txt').read_text()",
    "Path(__file__).with_name(name + '.txt').read_text()",
    "Path(__file__).parent.joinpath('texts', name).read_text()",
    "sorted(Path(__file__).parent.glob('*.txt'))",
    "os.listdir(os.path.dirname(__file__))",
    "open(os.path.join(os.path.dirname(__file__), name))",
    "open(name)",
    "Path(name).read_text()",
    "numpy.load(f'{os.path.dirname(__file__)}/{name}')",
    "numpy.load(os.path.dirname(__file__) + '/' + name)",
    "resources.read_text('reading', name)",
    "(resources.files('reading') / name).read_text()",
    "open(os.path.splitext(__file__)[0] + '.txt')",
    "open(__file__.replace('.py', '.txt'))",
    "open(__file__.removesuffix('py') + 'txt')",
    "Path(__file__[:-3] + '.txt').read_text()",
    "numpy.load(__file__[:-3] + '.txt')",
    "numpy.load(str(Path(__file__))[:-3] + '.txt')",
    "numpy.load(str(Path(__file__).resolve()).replace('.py', '.txt'))",
    "open(os.path.splitext(inspect.getfile(read))[0] + '.txt')",
    "numpy.load(reading.__file__.replace('__init__.py', 'oth' + 'er.txt'))",
    "os.path.dirname(__file__) + os.sep + name",
    "open(KIND + '.txt')",
    "open(TEXT.replace('py', 'txt'))",
    "Path(os.path.dirname(__file__), KIND + '.txt').read_text()",
    "Path(__file__).parent.joinpath(KIND, 'system.txt').read_text()",
    "open('/'.join([os.path.dirname(__file__), KIND + '.txt']))",
    "get_data('reading', KIND + '.txt')",
    "Environment(loader=PackageLoader('reading')).get_template('a')",
)

PLAIN = (
    "Path(__file__).parent / 'table.txt'",
    "Path(__file__).resolve().parent.joinpath('table.txt')",
    "Path(__file__).parents[1] / 'reading' / 'table.txt'",
    "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'table.txt')",
    "open(Path(__file__).with_name('table.txt'))",
    "open(os.path.join(os.path.dirname(__file__), 'table.txt'))",
    "json.loads((Path(str(Path(__file__).parent)) / 'table.txt').read_text())",
    "open(TABLE)",
    "post(f'{base_url}/chat/completions', (Path(__file__).parent / 'table.txt').read_text())",
    "post(base_url + '/chat/completions', (Path(__file__).parent / 'table.txt').read_text())",
    "numpy.load(f'{os.path.dirname(__file__)}/table.txt')",
)
"""A constant names the file."""

OWN = "import os\nfrom pathlib import Path\nTABLE = Path(__file__).parent / 'table.txt'\n"


class TestModels:
    """Replies cost money: only files that the modules of a model name or may compute the path of count."""

    def code(self) -> str:
        model = type("Model", (), {"__module__": "reading.model"})
        return take_snapshot("reading").model_code(model).digest

    @pytest.mark.parametrize("path", ["'table.txt'", "'prompts', 'system.txt'", "'prompts'"])
    def test_edit_of_a_named_file_changes_the_model_code(self, path: str, place: Path) -> None:
        write(place, "reading/model.py", f"import os\nTABLE = os.path.join(os.path.dirname(__file__), {path})")
        write(place, "reading/prompts/system.txt", "1")
        before = self.code()
        write(place, "reading/table.txt", "2")
        write(place, "reading/prompts/system.txt", "2")
        assert self.code() != before

    @pytest.mark.parametrize("read", COMPUTED)
    @pytest.mark.parametrize("module", ["model", "helper"])
    def test_edit_of_a_file_at_a_computed_path_changes_the_model_code(
        self, read: str, module: str, place: Path
    ) -> None:
        write(place, "reading/model.py", "from reading.helper import read")
        write(place, f"reading/{module}.py", f"import os\nfrom pathlib import Path\ndef read(name):\n    return {read}")
        before = self.code()
        write(place, "reading/other.txt", "2")
        assert self.code() != before

    @pytest.mark.parametrize(
        "read",
        [
            "(Path(__file__).parent.parent / 'prompts' / 'answer.txt').read_text()",
            "(Path(__file__).parents[1] / 'prompts/answer.txt').read_text()",
            "open(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'prompts', 'answer.txt')).read()",
            "resources.files('reading.prompts').joinpath('answer.txt').read_text()",
            "resources.read_text('reading.prompts', 'answer.txt')",
            "load(Path(__file__).parents[1] / 'prompts')",
        ],
    )
    def test_named_file_may_be_relative_to_any_package_folder(self, read: str, place: Path) -> None:
        write(place, "reading/model.py", "from reading.deep.helper import read")
        write(place, "reading/deep/__init__.py", "")
        write(place, "reading/deep/helper.py", f"from pathlib import Path\ndef read():\n    return {read}")
        write(place, "reading/prompts/answer.txt", "1")
        write(place, "reading/other.txt", "1")
        before = self.code()
        write(place, "reading/other.txt", "2")
        assert self.code() == before
        write(place, "reading/prompts/answer.txt", "2")
        assert self.code() != before

    def test_path_imported_from_another_module_covers_the_folder(self, place: Path) -> None:
        write(place, "reading/paths.py", "from pathlib import Path\nHERE = Path(__file__).parent\n")
        write(place, "reading/model.py", "from reading.paths import HERE\ndef read(name):\n    return HERE / name")
        before = self.code()
        write(place, "reading/other.txt", "2")
        assert self.code() != before

    @pytest.mark.parametrize("read", PLAIN)
    def test_edit_of_an_unnamed_file_keeps_the_model_code(self, read: str, place: Path) -> None:
        write(place, "reading/model.py", f"{OWN}def read():\n    return {read}")
        write(place, "reading/other.txt", "1")
        before = self.code()
        write(place, "reading/other.txt", "2")
        assert self.code() == before
        write(place, "reading/table.txt", "2")
        assert self.code() != before

    def test_edit_of_an_unrelated_file_keeps_the_model_code(self, place: Path) -> None:
        model = "from pathlib import Path\nTABLE = (Path(__file__).parent / 'table.txt').read_text()\nHALF = 1 / 2"
        write(place, "reading/model.py", model)
        write(place, "reading/unrelated.py", "TABLE = 'other.txt'")
        write(place, "reading/other.txt", "1")
        before = self.code()
        write(place, "reading/other.txt", "2")
        assert self.code() == before


class TestInOneProcess:
    MODULE = "from pathlib import Path\nTABLE = Path(__file__).with_name('table.txt').read_text()\nclass Part: ...\n"

    def imported(self, place: Path) -> ModuleType:
        write(place, "reading/part.py", self.MODULE)
        load_plugins(["reading"])
        return importlib.import_module("reading.part")

    def test_module_that_read_an_edited_file_is_loaded_again(self, place: Path) -> None:
        assert self.imported(place).TABLE == "1"
        allow_edits()
        write(place, "reading/table.txt", "2")
        assert load_plugins(["reading"]) == ["reading"]
        assert importlib.import_module("reading.part").TABLE == "2"

    def test_module_imported_before_the_run_is_loaded_again(self, place: Path) -> None:
        write(place, "reading/part.py", self.MODULE)
        assert importlib.import_module("reading.part").TABLE == "1"
        write(place, "reading/table.txt", "2")
        assert load_plugins(["reading"]) == ["reading"]

    def test_file_edited_during_the_run_is_refused(self, place: Path) -> None:
        cls = self.imported(place).Part
        require_unchanged(cls)
        write(place, "reading/table.txt", "1")  # the same content
        require_unchanged(cls)
        write(place, "reading/table.txt", "2")
        with pytest.raises(ComponentError, match=r"table\.txt: changed while reading\.part\.Part ran"):
            require_unchanged(cls)

    def test_model_is_refused_only_for_edits_of_files_it_names(self, place: Path) -> None:
        cls = self.imported(place).Part
        write(place, "reading/other.txt", "1")
        load_plugins(["reading"])
        write(place, "reading/other.txt", "2")
        require_unchanged(cls, as_model=True)
        write(place, "reading/table.txt", "2")
        with pytest.raises(ComponentError, match=r"table\.txt: changed while"):
            require_unchanged(cls, as_model=True)

    def test_pickled_snapshot_detects_changed_files(self, place: Path) -> None:
        snapshot = pickle.loads(pickle.dumps(take_snapshot("reading")))
        (file,) = snapshot.readable_files()
        assert not file.has_changed
        write(place, "reading/table.txt", "2")
        assert file.has_changed
        (place / "reading" / "table.txt").unlink()
        assert file.has_changed


def test_program_that_writes_a_file_is_refused_with_the_file_name(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    lines = (
        "from runner.engine.plugins.plugin_loading import load_plugins",
        "open('notes.txt', 'w').write('new')",
        "load_plugins(['__main__'])",
    )
    program.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, str(program)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert f"{tmp_path}/notes.txt: changed since the program was started" in done.stderr
    assert "define the component in a separate module" in done.stderr
