"""RAGQuestEval's two requests and the parsing of their replies: questions about a text, and answers to them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.asking.model_reply import (
    copies_placeholder,
    json_values,
    parse_whole_number,
    read_object,
    strip_template,
)
from components.asking.prompt_parts import chat_messages
from components.asking.readable_requests import Inquiry
from components.json_value import Json
from components.records import Request, Sample
from components.text.templates import fill

_QUESTIONS_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "key_info": {"type": "array", "items": {"type": "string"}},
        "questions": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["key_info", "questions"],
    "additionalProperties": False,
}
"""The key facts come first, so that each question asks about one of them."""

_ANSWERS_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "answers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"number": {"type": "integer"}, "answer": {"type": "string"}},
                "required": ["number", "answer"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["answers"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class QuestionedText:
    """A sample's reference or answer, which is the source of questions, or of answers to `questions`."""

    sample: Sample
    text: str
    questions: tuple[str, ...] = ()


def questions_about(source: QuestionedText, system: str, prompt: str) -> Inquiry[tuple[str, ...]]:
    """Return the inquiry for questions about the text. `prompt` has a placeholder for {text}.

    A reply is unreadable if it has placeholders of the form in `prompt` for questions.
    """
    messages = chat_messages(system, fill(prompt, {"{text}": source.text}))

    def read(reply: str) -> tuple[str, ...] | None:
        questions = read_questions(reply)
        return None if any(copies_placeholder(question, prompt) for question in questions or ()) else questions

    return Inquiry(Request(source.sample.id, messages, source.sample, (), _QUESTIONS_SCHEMA), read)


def answers_from(source: QuestionedText, system: str, prompt: str, cannot_infer: str) -> Inquiry[tuple[str, ...]]:
    """Return the inquiry for one answer per question. `prompt` has placeholders {text}, {questions} and
    {cannot_infer}.
    """
    questions = "\n".join(f"{n}. {question}" for n, question in enumerate(source.questions, start=1))
    values = {"{text}": source.text, "{questions}": questions, "{cannot_infer}": cannot_infer}
    request = Request(source.sample.id, chat_messages(system, fill(prompt, values)), source.sample, (), _ANSWERS_SCHEMA)
    return Inquiry(request, lambda text: read_answers(strip_template(text, prompt), len(source.questions)))


def read_questions(text: str) -> tuple[str, ...] | None:
    """Return the distinct questions of a reply, in order; () if it lists none, None if it cannot be read."""
    questions = (read_object(text, "questions") or {}).get("questions")
    if not (isinstance(questions, list) and all(isinstance(question, str) for question in questions)):
        return None
    return tuple(dict.fromkeys(question.strip() for question in questions if question.strip()))


def read_answers(text: str, n_questions: int) -> tuple[str, ...] | None:
    """Return the answers to questions 1 to `n_questions`; None unless the reply has one for each number.

    Answers are matched to questions by number, not by position: a model that skips a question would shift all later
    answers. The reply may be a list of objects with `number` and `answer`, or an object with numbers as keys, under
    "answers" or at the top level.
    """
    for value in json_values(text):
        answers = dict(_numbered_answers(value.get("answers", value) if isinstance(value, dict) else value))
        if all(number in answers for number in range(1, n_questions + 1)):
            return tuple(answers[number] for number in range(1, n_questions + 1))
    return None


def _numbered_answers(value: object) -> Iterator[tuple[int, str]]:
    """Yield (number, answer) for every valid entry. Blank answers, "..." and null are invalid."""
    items: Sequence[tuple[object, object]] = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = [(item.get("number"), item.get("answer")) for item in value if isinstance(item, dict)]
    for key, answer in items:
        number = parse_whole_number(key)
        is_answer = isinstance(answer, str | int | float) and not isinstance(answer, bool)
        if number is not None and is_answer and not copies_placeholder(str(answer), ""):
            yield number, str(answer).strip()
