"""Chat templates of models, tested before the run: an error in one would otherwise fail every answer."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from components.pretrained.model_folder import local_folder
from components.records import Message

_QUESTION = "Is this question in the prompt?"
_SPECIAL_TOKENS = {f"{name}_token": f"<{name}>" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}
"""Replacements for the special tokens of the model's tokenizer, which templates may name."""


def apply_template(
    tokenizer: Any, messages: Sequence[Message], chat_template: str = "", *, add_generation_prompt: bool = True
) -> str:
    """Return the messages as the model reads them, in its own template or in `chat_template`.

    With `add_generation_prompt`, the text ends where the reply begins. Raises jinja2.TemplateError if the template
    rejects the messages.
    """
    text: str = tokenizer.apply_chat_template(
        [{"role": message.role, "content": message.content} for message in messages],
        chat_template=chat_template or None,
        add_generation_prompt=add_generation_prompt,
        tokenize=False,
    )
    return text


def template_problems(model: str, chat_template: str) -> list[str]:
    """Return an error message for a broken `chat_template`, or for the model's own template if `chat_template` is "".

    The template of a model on the hub is not checked, because its files may not be on this machine.
    """
    if chat_template:
        error = _template_error(chat_template)
        return [f"chat_template: it {error}"] if error else []
    template = folder_template(model)
    if template is None:
        return []
    if not template:
        return [f"model: {missing_template(model)}"]
    error = _template_error(template)
    return [f"model: the chat template of {model!r} {error}. Set `chat_template` to another."] if error else []


def missing_template(model: str) -> str:
    """Return the message for a model without a chat template."""
    return (
        f"{model!r} has no chat template, like all base models, expected a chat model. Choose one, or "
        "set `chat_template`"
    )


def folder_template(model: str) -> str | None:
    """Return the chat template in a model's local folder, "" if it has none.

    Returns None for a hub id, and for a folder with unreadable files, which loading the model reports.
    """
    folder = local_folder(model)
    if folder is None:
        return None
    own_file, settings = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    try:
        if own_file.is_file():
            return own_file.read_text(encoding="utf-8")
        template = json.loads(settings.read_text(encoding="utf-8")).get("chat_template") if settings.is_file() else ""
    except (RecursionError, ValueError):
        return None
    if isinstance(template, list):  # several named templates
        template = {entry["name"]: entry["template"] for entry in template}.get("default")
    return template or ""


@cache
def _template_error(template: str) -> str:
    """Return the reason why a template cannot render a question as a prompt, "" if it can. Imports transformers but not
    torch.
    """
    from transformers.utils.chat_template_utils import render_jinja_template

    messages = [{"role": "user", "content": _QUESTION}]
    try:
        (prompt,), _ = render_jinja_template(
            [messages], chat_template=template, add_generation_prompt=True, **_SPECIAL_TOKENS
        )
    except Exception as error:  # noqa: BLE001 - Jinja's errors, or any error of a Python expression
        return f"cannot render a user's question as a prompt ({type(error).__name__}: {error})"
    return (
        "" if _QUESTION in prompt else ("leaves out the user's question, expected a template with messages' `content`")
    )
