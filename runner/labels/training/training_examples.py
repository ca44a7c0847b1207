"""Converts training pairs to the tokens that a model reads and writes. None of them is truncated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import ComponentError
from components.json_value import Json
from components.pretrained.chat_template import apply_template
from components.records import Message

_NO_LOSS = -100
"""Label of tokens that the model only reads. They are excluded from the loss."""


@dataclass(frozen=True)
class TrainingExamples:
    """Examples of a split. `rows` have `input_ids` and `labels`; `too_long` lists the pairs that do not fit, as "id,
    metric: n tokens".
    """

    rows: tuple[dict[str, list[int]], ...]
    too_long: tuple[str, ...]


@dataclass(frozen=True)
class TrainingSets:
    """Examples for training and for validation, and the tokenizer of transformers that made them."""

    tokenizer: Any
    learned: TrainingExamples
    validated: TrainingExamples

    @property
    def too_long(self) -> tuple[str, ...]:
        """The pairs of both splits that do not fit."""
        return (*self.learned.too_long, *self.validated.too_long)


def make_examples(pairs: Sequence[Mapping[str, Json]], tokenizer: Any, max_length: int) -> TrainingExamples:
    """Return the examples of pairs: the prompt as `TransformersChat` tokenizes it, then the reply with its end token.

    Only the reply contributes to the loss. A pair of more than `max_length` tokens is left out, because truncation
    would remove its grade. Raises ComponentError for a chat template whose prompt is not the beginning of the whole
    conversation.
    """
    rows, too_long = [], []
    for pair in pairs:
        prompt, reply = _tokens(pair, tokenizer)
        n_tokens = len(prompt) + len(reply)
        if n_tokens > max_length:
            too_long.append(f"{pair['id']}, {pair['metric']}: {n_tokens} tokens")
        else:
            rows.append({"input_ids": prompt + reply, "labels": [_NO_LOSS] * len(prompt) + reply})
    return TrainingExamples(tuple(rows), tuple(too_long))


def _tokens(pair: Mapping[str, Json], tokenizer: Any) -> tuple[list[int], list[int]]:
    from jinja2 import TemplateError

    messages, reply = ([Message(**message) for message in pair[name]] for name in ("prompt", "completion"))
    try:
        prompt = apply_template(tokenizer, messages)
        whole = apply_template(tokenizer, [*messages, *reply], add_generation_prompt=False)
    except TemplateError as error:
        raise ComponentError(f"the chat template refuses the messages of {pair['id']!r}: {error}") from error
    if not whole.startswith(prompt):
        raise ComponentError(
            "the chat template renders a whole conversation differently from the prompt that requests the reply, "
            "as templates of reasoning models may do: the judge would not be asked what it learned. Expected a "
            "model whose template continues its prompt."
        )
    if reply[0].content not in (rendered := whole[len(prompt) :]):
        raise ComponentError(
            "the chat template omits the text of a reply, as templates of vision models may do, expected a model "
            "whose template writes messages' `content`"
        )
    prompt_ids, reply_ids = (_ids(tokenizer, text) for text in (prompt, rendered))
    # Without an end token in the template, the model would learn not to stop.
    if tokenizer.eos_token_id is not None and tokenizer.eos_token_id not in reply_ids:
        reply_ids.append(tokenizer.eos_token_id)
    return prompt_ids, reply_ids


def _ids(tokenizer: Any, text: str) -> list[int]:
    # Not verbose, because texts that are too long for the model are counted elsewhere.
    return list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
