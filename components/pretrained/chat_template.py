"""Chat templates of models, tried before any work: a mistake in one would otherwise be an error of every answer."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from components.pretrained.model_folder import local_folder
from components.records import Message

_QUESTION = "Is this question in the prompt?"
_SPECIAL_TOKENS = {f"{name}_token": f"<{name}>" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}
"""Stand in for those of the model's tokenizer, which templates may name."""


def in_template(tokenizer: Any, messages: Sequence[Message], chat_template: str = "", *, asks: bool = True) -> str:
    """The messages as the model reads them, in its own template or in `chat_template`; with `asks` up to where its
    reply begins. Raises jinja2.TemplateError if the template takes no such messages.
    """
    text: str = tokenizer.apply_chat_template(
        [{"role": message.role, "content": message.content} for message in messages],
        chat_template=chat_template or None,
        add_generation_prompt=asks,
        tokenize=False,
    )
    return text


def template_mistakes(model: str, chat_template: str) -> list[str]:
    """What is wrong with the template of a user's, or with the model's own where that is "". The own one of a model on
    the hub is not looked at: its files may not be on this machine.
    """
    if chat_template:
        mistake = _mistake(chat_template)
        return [f"chat_template: it {mistake}"] if mistake else []
    own = folder_template(model)
    if own is None:
        return []
    if not own:
        return [f"model: {without_template(model)}"]
    mistake = _mistake(own)
    return [f"model: the chat template of {model!r} {mistake}, or another in `chat_template`"] if mistake else []


def without_template(model: str) -> str:
    """What to say of a model that has none."""
    return (
        f"{model!r} has no chat template: is it a base model? Expected one that was tuned for chats, or a template in "
        "`chat_template`"
    )


def folder_template(model: str) -> str | None:
    """The chat template in a model's local folder, "" if it has none; None for an id of the hub, and for a folder whose
    files cannot be read, which is said when the model is loaded.
    """
    folder = local_folder(model)
    if folder is None:
        return None
    own_file, settings = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    try:
        if own_file.is_file():
            return own_file.read_text(encoding="utf-8")
        template = json.loads(settings.read_text(encoding="utf-8")).get("chat_template") if settings.is_file() else ""
    except ValueError:
        return None
    if isinstance(template, list):  # several by their names
        template = {each["name"]: each["template"] for each in template}.get("default")
    return template or ""


@cache
def _mistake(template: str) -> str:
    """Of one that cannot write a user's question as a prompt; "" for any other. Imports transformers, and no torch."""
    from transformers.utils.chat_template_utils import render_jinja_template

    messages = [{"role": "user", "content": _QUESTION}]
    try:
        (prompt,), _ = render_jinja_template(
            [messages], chat_template=template, add_generation_prompt=True, **_SPECIAL_TOKENS
        )
    except Exception as error:  # noqa: BLE001 - Jinja's own, or whatever Python raises at an expression
        return f"does not write a user's question as a prompt ({type(error).__name__}: {error}), expected one that does"
    return "" if _QUESTION in prompt else "leaves out what a user asks, expected one that writes messages' `content`"
