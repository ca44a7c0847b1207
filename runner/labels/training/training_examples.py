"""Training pairs as the tokens that a model reads and writes, none of them cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import ComponentError
from components.json_value import Json
from components.pretrained.chat_template import in_template
from components.records import Message

_NO_LOSS = -100
"""The label of tokens that a model reads, and does not learn to write."""


@dataclass(frozen=True)
class TrainingExamples:
    """`rows` hold `input_ids` and `labels`; `too_long` are the pairs that do not fit, as "id, metric: n tokens"."""

    rows: tuple[dict[str, list[int]], ...]
    too_long: tuple[str, ...]


@dataclass(frozen=True)
class Lessons:
    """What a model learns, and what says how far it has come; `tokenizer` is that of transformers."""

    tokenizer: Any
    learned: TrainingExamples
    validated: TrainingExamples

    @property
    def too_long(self) -> tuple[str, ...]:
        """Of both."""
        return (*self.learned.too_long, *self.validated.too_long)


def examples_of(pairs: Sequence[Mapping[str, Json]], tokenizer: Any, max_length: int) -> TrainingExamples:
    """The prompt of each pair in the tokens that `TransformersChat` gives the model, then the reply with the token that
    ends it, which alone counts for the loss. A pair of more than `max_length` tokens is left out: cut to it, it would
    lose its grade. Raises ComponentError for a chat template in which a reply does not follow its prompt.
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
        prompt = in_template(tokenizer, messages)
        whole = in_template(tokenizer, [*messages, *reply], asks=False)
    except TemplateError as error:
        raise ComponentError(f"the chat template refuses the messages of {pair['id']!r}: {error}") from error
    if not whole.startswith(prompt):
        raise ComponentError(
            "the chat template writes a conversation otherwise than the prompt in which it asks for the reply, as "
            "those of models that think first may do: the judge would not be asked what it learned. Expected a model "
            "whose template continues its prompt"
        )
    if reply[0].content not in (said := whole[len(prompt) :]):
        raise ComponentError(
            "the chat template leaves out what a reply says, as those of models that see pictures may do; expected a "
            "model whose template writes messages' `content`"
        )
    of_prompt, of_reply = (_ids(tokenizer, text) for text in (prompt, said))
    # A template that only breaks the line after a reply would teach the model not to stop.
    if tokenizer.eos_token_id is not None and tokenizer.eos_token_id not in of_reply:
        of_reply.append(tokenizer.eos_token_id)
    return of_prompt, of_reply


def _ids(tokenizer: Any, text: str) -> list[int]:
    # Not verbose: what is too long for the model is counted.
    return list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
