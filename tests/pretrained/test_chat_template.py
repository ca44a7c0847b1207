"""Locations of chat templates, and errors in them."""

import json
from pathlib import Path

import pytest

from components.pretrained.chat_template import folder_template, template_problems
from tests.extras import skip_without
from tests.models.tiny import CHAT_TEMPLATE

skip_without("transformers")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"chat_template.jinja": "own file", "tokenizer_config.json": '{"chat_template": "x"}'}, "own file"),
        ({"tokenizer_config.json": '{"chat_template": "in the settings"}'}, "in the settings"),
        (
            {
                "tokenizer_config.json": json.dumps(
                    {"chat_template": [{"name": "rag", "template": "x"}, {"name": "default", "template": "by name"}]}
                )
            },
            "by name",
        ),
        ({"tokenizer_config.json": "{}"}, ""),
        ({}, ""),
    ],
)
def test_chat_template_is_read_from_any_of_several_files(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert folder_template(str(tmp_path)) == expected


def test_unreadable_tokenizer_settings_are_no_template_error(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{", encoding="utf-8")
    assert template_problems(str(tmp_path), "") == []


def test_hub_model_template_is_not_checked() -> None:
    assert template_problems("owner/name", "") == []


@pytest.mark.parametrize(
    "template",
    [
        CHAT_TEMPLATE,
        "{{ bos_token + '[INST] ' + messages[0]['content'] + eos_token }}",
        "{% if tools %}{{ tools | tojson }}{% endif %}{{ messages[-1].content | trim }}{{ strftime_now('%Y') }}",
    ],
)
def test_template_that_writes_the_question_passes_the_check(template: str) -> None:
    assert template_problems("owner/name", template) == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% for message in messages %}", "TemplateSyntaxError"),
        ("{{ messages[0].text.strip() }}", "UndefinedError"),
        ("{{ messages[0].content + 1 }}", "TypeError"),
        ("{{ raise_exception('none today') }}", "none today"),
        ("{% for message in messages %}{{ message.role }}{% endfor %}", "leaves out the user's question"),
    ],
)
def test_template_that_fails_or_omits_the_question_is_rejected(template: str, expected: str) -> None:
    (problem,) = template_problems("owner/name", template)
    assert problem.startswith("chat_template: ")
    assert expected in problem
