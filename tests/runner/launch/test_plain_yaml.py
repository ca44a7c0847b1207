"""YAML files of users that a loader would misread, or that would exhaust its memory."""

import random
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from components.errors import ConfigError
from runner.launch import python_api
from runner.launch.plain_yaml import require_plain_yaml

BOMB = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9 if n else ['x'] * 9)}]\n" for n in range(9))
REFUSED = {
    "a byte-order mark": ("\ufefftop_k: 3\n", "byte-order mark"),
    "a single value": ("5\n", "single value"),
    "an alias within itself": ("chunk: &a\n  x: *a\n", r"alias \*a contains itself"),
    "a list within itself": ("top_k: &a [*a]\n", r"alias \*a contains itself"),
    "nesting": ("x: " + "[" * 3000 + "]" * 3000, "nested more than 100 levels"),
    "digits": (f"top_k: {'7' * 5000}\n", "more than 1,000 digits"),
    "hexadecimal digits": (f"top_k: 0x{'7' * 5000}\n", "more than 1,000 digits"),
    "copies of aliases": (BOMB, "stand for more than 1,000,000 values"),
}
ACCEPTED = (
    "",
    "a: &a {b: 1}\nc: *a\nd: [*a, *a]\n",
    "a: &a {b: 1}\nc:\n  <<: *a\n",
    f"prompt: '{'7' * 5000}'\n",
    f"prompt: {'x' * 5000}\n",
    f"prompt: {'-' * 5000}x\n",
    "a: &a 1\nb: *a\na2: &a 2\nc: *a\n",
)


@pytest.mark.parametrize("name", REFUSED)
def test_preset_of_oversized_yaml_is_one_error(name: str, tmp_path: Path) -> None:
    text, message = REFUSED[name]
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"sweeps/mine: cannot be read as YAML .*{message}"):
        python_api.run_overrides(["+sweeps=mine", "run.plan_only=true"], tmp_path)


def test_preset_in_its_own_defaults_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "mine.yaml").write_text("defaults: [mine]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="refers to itself or is nested too deeply"):
        python_api.run_overrides(["+sweeps=mine", "run.plan_only=true"], tmp_path)


@pytest.mark.parametrize("text", ACCEPTED)
def test_plain_yaml_is_accepted(text: str) -> None:
    require_plain_yaml(text.encode())


def test_random_yaml_is_accepted_or_one_error() -> None:
    draw = random.Random(0)
    pieces = [
        "&a ",
        "*a",
        "&b ",
        "*b",
        "x",
        "- ",
        "\n",
        "  ",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "7" * 1200,
        "'",
        "#",
        "é",
    ]
    outcomes = set()
    for _ in range(3000):
        text = "".join(draw.choices(pieces, k=draw.randint(1, 12)))
        try:
            require_plain_yaml(text.encode())
        except (ValueError, yaml.YAMLError) as error:
            outcomes.add(type(error).__name__)
        else:
            outcomes.add("accepted")
            with suppress(yaml.YAMLError, ValueError):  # others would be a traceback
                yaml.safe_load(text)
    assert {"accepted", "ValueError", "ParserError"} <= outcomes
