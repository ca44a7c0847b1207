"""The README's picture of a terminal."""

from pathlib import Path

from benchmarks.pictures import DOCS, run_sweep, stable, text_of_svg


def test_leaderboard_picture_equals_the_output_of_the_readme_sweep(tmp_path: Path) -> None:
    printed = stable(run_sweep(tmp_path, "tracking=none"))
    drawn = stable(text_of_svg((DOCS / "leaderboard.svg").read_text(encoding="utf-8")))
    assert len(printed) > 18, "a row for nearly every cell"
    assert "".join(drawn).replace(" ", "") == "".join(printed).replace(" ", "")
