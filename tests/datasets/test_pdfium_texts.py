"""PDFium reads in a separate process. A file that ends or hangs that process is one error."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.planted_documents import WRITERS, plant_facts
from components.datasets import parsing_time, pdfium_texts
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.pdfium import Pdfium
from components.errors import DataError, MissingExtraError
from tests.runner.sweeping import REPOSITORY

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and limits the address space")
_HEAD = b"/Type /XObject /Subtype /Form /BBox [0 0 1 1] "


def _stream(content: bytes, fields: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    head = b"<< /Length %d /Filter /FlateDecode %s>>" % (len(packed), fields)
    return head + b"\nstream\n" + packed + b"\nendstream"


def _write_pdf(file: Path, content: bytes, *forms: bytes) -> None:
    """Write a page with a content that may call the first form, /X."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>",
        _stream(content),
        *forms,
    ]
    text = b"%PDF-1.7\n"
    for number, each in enumerate(objects, start=1):
        text += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    file.write_bytes(text + b"trailer << /Size %d /Root 1 0 R >>\n%%%%EOF\n" % (len(objects) + 1))


def _write_endless(file: Path) -> None:
    """Write a page whose forms call the next one twice, 40 times."""
    inner = [b"/Resources << /XObject << /X %d 0 R >> >> " % (number + 6) for number in range(40)]
    forms = [_stream(b"/X Do /X Do", _HEAD + each) for each in inner]
    _write_pdf(file, b"/X Do", *forms, _stream(b"", _HEAD))


def _write_ordinary(file: Path) -> Path:
    WRITERS["PDF"](plant_facts(0, "en"), file)
    return file


def _text(file: Path) -> str:
    return read_documents(file, ReadingOptions(parser=Pdfium()))[0].texts[0]


def _reader() -> "subprocess.Popen[bytes]":
    assert pdfium_texts._Shared.reader is not None, "a file was read"
    return pdfium_texts._Shared.reader.process


@LINUX
def test_page_that_crashes_pdfium_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    expected = _text(ordinary)
    _write_pdf(tmp_path / "bomb.pdf", b" " * 400_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(pdfium_texts, "_GIB", 2**25)
        with pytest.raises(DataError, match=r"bomb\.pdf, page 1: PDFium crashed \(SIG[A-Z]+\).*Repair the file"):
            _text(tmp_path / "bomb.pdf")
    assert _text(ordinary) == expected


def test_page_that_hangs_pdfium_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    expected = _text(ordinary)
    _write_endless(tmp_path / "bomb.pdf")
    with monkeypatch.context() as patch:
        patch.setattr(parsing_time, "MAX_PAGE_S", 0.5)
        with pytest.raises(DataError, match=r"bomb\.pdf, page 1: parsing took more than 0\.5 s\."):
            _text(tmp_path / "bomb.pdf")
    assert _text(ordinary) == expected


def test_pdfium_process_is_reused_and_replaced_after_a_kill(tmp_path: Path) -> None:
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    expected = _text(ordinary)
    first = _reader()
    assert _text(ordinary) == expected
    assert _reader() is first
    first.kill()
    first.wait()
    assert _text(ordinary) == expected
    assert _reader() is not first


def test_reply_to_an_interrupted_pdfium_request_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{number}.pdf" for number in range(2)]
    for number, file in enumerate(files):
        WRITERS["PDF"](plant_facts(number, "en"), file)
    expected = [_text(file) for file in files]

    def interrupt(line: bytes) -> object:
        raise DataError("as the limit on the time does")

    with monkeypatch.context() as patch:
        patch.setattr("components.datasets.pdfium_texts.json.loads", interrupt)
        with pytest.raises(DataError, match="as the limit"):
            _text(files[0])
    assert [_text(file) for file in reversed(files)] == expected[::-1]


def test_concurrent_threads_read_the_same_pdfium_texts(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.pdf" for number in range(6)]
    for number, file in enumerate(files):
        WRITERS["PDF"](plant_facts(number, "en"), file)
    expected = [_text(file) for file in files]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_text, files * 5)) == expected * 5


def _check(file: Path, expected: str) -> None:
    """Exits with an error if the file has another text, or if the process of the parent read it."""
    assert pdfium_texts._Shared.reader is None
    assert _text(file) == expected


@pytest.mark.parametrize("daemon", [True, False])
def test_forked_child_starts_its_own_pdfium_process(daemon: bool, tmp_path: Path) -> None:
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    expected = _text(ordinary)
    first = _reader()
    fork = multiprocessing.get_context("fork").Process(target=_check, args=(ordinary, expected), daemon=daemon)
    fork.start()
    fork.join(60)
    assert fork.exitcode == 0
    assert _text(ordinary) == expected
    assert _reader() is first


@LINUX
def test_pdfium_process_ends_with_a_killed_parent(tmp_path: Path) -> None:
    _write_endless(tmp_path / "bomb.pdf")
    code = "import sys, pathlib; from components.datasets.pdfium_texts import read_with_pdfium as read"
    parent = subprocess.Popen(
        [sys.executable, "-c", f"{code}; read(pathlib.Path(sys.argv[1]))", str(tmp_path / "bomb.pdf")], cwd=REPOSITORY
    )
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.05)
    child = Path(f"/proc/{found[0]}")
    while _cpu_ticks(child) < 2 * os.sysconf("SC_CLK_TCK"):  # PDFium is in the endless page
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 20
    while child.exists() and child.joinpath("stat").read_text().split()[2] != "Z" and time.monotonic() < until:
        time.sleep(0.05)
    assert time.monotonic() < until


def _cpu_ticks(process: Path) -> int:
    return int(process.joinpath("stat").read_text().rpartition(")")[2].split()[11])


def test_pdfium_process_imports_nothing_from_the_working_directory(tmp_path: Path) -> None:
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    here = tmp_path / "given"
    here.mkdir()
    for name in ("json", "contextlib", "ctypes", "multiprocessing", "pathlib", "pypdfium2", "queue", "runpy", "numpy"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'it-ran')!r}, 'w').close()\n")
    code = (
        "import os, sys, pathlib; from components.datasets.pdfium_texts import read_with_pdfium as read\n"
        "os.chdir(sys.argv[2]); os.environ['PYTHONPATH'] = os.pathsep; print(len(read(pathlib.Path(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ordinary), str(here)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, int(done.stdout) > 1) == (0, True), done.stderr
    assert not (tmp_path / "it-ran").exists()


_READ = "import sys, pathlib; from components.datasets.pdfium_texts import read_with_pdfium as read; "


def _run_with(options: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    code = f"{_READ}print(ascii(read(pathlib.Path(sys.argv[1]))))"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )


@pytest.mark.parametrize("encoding", ["utf-16", "cp037"])
def test_pdfium_process_ignores_the_terminal_encoding(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary = _write_ordinary(tmp_path / "\u00e9.pdf")
    expected = _text(ordinary)
    pdfium_texts._end_reader()
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit(_text, ordinary)
        try:
            assert text.result(20) == expected
        finally:
            if not text.done():
                _reader().kill()


@pytest.mark.parametrize("line", [b"no order\n", b"\xff\xfe\n"])
def test_pdfium_process_ends_at_an_invalid_request(line: bytes) -> None:
    with subprocess.Popen(
        [sys.executable, str(REPOSITORY / "components/datasets/pdfium_process.py")],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
            assert process.wait(20) == 1
        finally:
            process.kill()


def test_pdfium_process_uses_the_package_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "pypdfium2").mkdir()
    (tmp_path / "pypdfium2" / "__init__.py").write_text(
        "class PdfDocument(list):\n    def __init__(self, file): pass\n    def close(self): pass\n"
        "    def get_metadata_value(self, name): return 'of the other package'\n"
    )
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    assert _run_with({"PYTHONPATH": str(tmp_path)}, str(ordinary)).stdout == "['of the other package']\n"


def test_deleted_pdf_is_not_reported_as_damaged(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.pdf: the system did not let PDFium read it \(.*No such file") as raised:
        pdfium_texts.read_with_pdfium(tmp_path / "gone.pdf")
    assert "Repair" not in str(raised.value)


def test_failed_start_of_pdfium_does_not_blame_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = _write_ordinary(tmp_path / "a.pdf")

    def start(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    pdfium_texts._end_reader()
    monkeypatch.setattr("subprocess.Popen", start)
    with pytest.raises(
        DataError, match=r"a\.pdf: the system did not let PDFium read it .*Too many open files"
    ) as raised:
        _text(ordinary)
    assert "Repair" not in str(raised.value)


@LINUX
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGSEGV"])
def test_error_names_the_signal_that_ended_the_pdfium_process(name: str, tmp_path: Path) -> None:
    _text(_write_ordinary(tmp_path / "a.pdf"))
    _write_endless(tmp_path / "bomb.pdf")
    process = _reader()
    before = _cpu_ticks(Path(f"/proc/{process.pid}"))
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit(_text, tmp_path / "bomb.pdf")
        while _cpu_ticks(Path(f"/proc/{process.pid}")) < before + 20:  # PDFium is in the endless page
            time.sleep(0.05)
        process.send_signal(signal.Signals[name])
        with pytest.raises(DataError, match=rf"bomb\.pdf, page 1: PDFium crashed \({name}\)"):
            text.result(30)


def test_error_names_the_broken_pdfium_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "pypdfium2" / "__init__.py"
    broken.parent.mkdir()
    broken.write_text("import no_such_module\n")
    ordinary = _write_ordinary(tmp_path / "a.pdf")
    pdfium_texts._end_reader()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pypdfium2", raising=False)
    try:
        with pytest.raises(MissingExtraError, match="pypdfium2"):
            _text(ordinary)
    finally:
        pdfium_texts._end_reader()


def test_error_names_the_missing_pdfium_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pdf").touch()
    monkeypatch.setattr(pdfium_texts, "find_spec", lambda name: None)
    monkeypatch.setattr(pdfium_texts._Shared, "reader", None)
    with pytest.raises(MissingExtraError, match="pypdfium2"):
        _text(tmp_path / "a.pdf")
