"""Prompts with one template per kind of task."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Kind, Message, Passage, Sample
from components.text.languages import languages_of_prompts
from components.text.templates import fill

_FACT = re.compile(r"\{([\w -]+)\}")
_ALWAYS_KNOWN = ("n", "text", "title", "metadata")
_SOMETIMES_KNOWN = ("section", "page", "date")
"""Facts of chunks that a whole corpus may lack."""
_REQUIRED, _HISTORY = ("{question}", "{context}"), "{history}"


@dataclass(frozen=True)
class PromptByKind:
    """Templates by the kind of a sample, with `default` for kinds that have no template.

    The placeholders {question}, {context} and {history} are filled in. Nothing else is replaced, and inserted text is
    never read as a template. Each passage is written as `passage` with {n} (its number, from 1), {text} (stripped), and
    {title} and {metadata} (as "name: value; name: value") of its document, and with facts by their names; unknown facts
    are "". If retrieval found nothing, `nothing_found` replaces the context. For a closed book, `closed_book` replaces
    it, and `closed_book_system` is the system message, or `system` if that is empty. If `default` has no {history}, the
    earlier turns of a conversation precede its question.
    """

    system: str = ""
    qa: str = ""
    long_form: str = ""
    conversation: str = ""
    continuation: str = ""
    summarization: str = ""
    correction: str = ""
    passage: str = "[{n}] {text}"
    turn: str = "{question}\n{answer}"
    nothing_found: str = ""
    closed_book_system: str = ""
    closed_book: str = ""
    default: str = ""

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for templates without a placeholder for the question, the context or a passage's text,
        and for kinds without a template.
        """
        templates = {kind: getattr(self, kind.value) for kind in Kind if getattr(self, kind.value)}
        problems = [
            f"{kind.value}: the template has no {field}"
            for kind, template in templates.items()
            for field in (*_REQUIRED, *([_HISTORY] if kind is Kind.CONVERSATION else []))
            if field not in template
        ]
        parts = {"passage": (self.passage, "{text}"), "turn": (self.turn, "{question}")}
        problems += [
            f"{name}: the template has no {field}" for name, (template, field) in parts.items() if field not in template
        ]
        if self.default:
            return problems + [
                f"default: the template has no {field}" for field in _REQUIRED if field not in self.default
            ]
        missing = [kind.value for kind in Kind if kind not in templates]
        expected = "expected a template with {question} and {context}, here or as `default` for all kinds without one"
        return problems + ([f"{', '.join(missing)}: is empty, {expected}"] if missing else [])

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of sources that the instructions are written for; () for any."""
        return languages_of_prompts(self.system, self.default, *(getattr(self, kind.value) for kind in Kind))

    def check_metadata(self, names: Sequence[str], samples: Sequence[Sample]) -> list[str]:
        """Return error messages for facts in `passage` that no document has."""
        known_names = ", ".join(dict.fromkeys([*_ALWAYS_KNOWN, *_SOMETIMES_KNOWN, *names]))
        return [
            f"prompt.passage: no document has {name!r} among its metadata, expected placeholders for {known_names}"
            for name in self._shown_facts
            if name not in names and name not in _SOMETIMES_KNOWN
        ]

    @property
    def _shown_facts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in _FACT.findall(self.passage) if name not in _ALWAYS_KNOWN))

    def render(self, sample: Sample, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Return a system message (unless it is empty) and a user message."""
        unknown = {f"{{{name}}}": "" for name in self._shown_facts}
        context = "\n".join(
            fill(self.passage, unknown | _passage_values(n, passage)) for n, passage in enumerate(passages, 1)
        )
        return self._messages(sample, self.system, context or self.nothing_found)

    def render_closed_book(self, sample: Sample) -> tuple[Message, ...]:
        """Return the messages for an answer from the model's own knowledge; see `render`."""
        return self._messages(sample, self.closed_book_system or self.system, self.closed_book)

    def _messages(self, sample: Sample, system: str, context: str) -> tuple[Message, ...]:
        template = getattr(self, sample.kind.value) or self.default
        turns = [fill(self.turn, {"{question}": turn.question, "{answer}": turn.answer}) for turn in sample.history]
        has_placeholder = _HISTORY in template or sample.kind is not Kind.CONVERSATION
        question = sample.question if has_placeholder else "\n".join([*turns, sample.question])
        values = {"{question}": question, "{context}": context, _HISTORY: "\n".join(turns)}
        user = Message("user", fill(template, values))
        return (Message("system", system), user) if system else (user,)


def _passage_values(n: int, passage: Passage) -> dict[str, str]:
    metadata = "; ".join(f"{name}: {value}" for name, value in passage.metadata.items())
    facts = {f"{{{name}}}": value for name, value in passage.metadata.items()}
    number, text = str(passage.number or n), passage.text.strip()
    return {**facts, "{n}": number, "{text}": text, "{title}": passage.title, "{metadata}": metadata}
