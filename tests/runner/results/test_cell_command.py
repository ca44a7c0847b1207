import pytest

from runner.results import CellResult, cell_command

CELL = CellResult("a1", "OK", {}, ("retriever=bm25", "+x.y='a b'"), {}, {})


@pytest.mark.parametrize(
    ("sweep_command", "sources"),
    [
        ("python -m runner -m retriever=bm25,dense", ""),
        ("python -m runner -m --config-dir 'my conf' retriever=bm25,dense", "--config-dir 'my conf' "),
        (
            "python -m runner -cn mine 'hydra.searchpath=[file://conf]'",
            "--config-name mine 'hydra.searchpath=[file://conf]' ",
        ),
        ("python -m runner 'unclosed", ""),
    ],
)
def test_cell_command_keeps_the_places_of_options_of_the_sweep(sweep_command: str, sources: str) -> None:
    expected = f"python -m runner {sources}retriever=bm25 '+x.y='\"'\"'a b'\"'\"''"
    assert cell_command(CELL, sweep_command) == expected
