"""Runnables of LangChain as functions: a chain answers a question, and a retriever finds passages."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.errors import ComponentError
from components.pretrained.model_folder import missing_package_errors
from components.user_code.calls import Parameters, format_exception, function_problems, import_object, import_problems
from components.user_code.langchain_runs import ChainRecord, langchain_handler
from components.user_code.returned_passages import BadReply, preview

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.runnables import Runnable

QUESTION_KEYS = ("input", "question", "query", "messages")
HISTORY_KEYS = ("chat_history", "history", "messages")
ANSWER_KEYS = ("answer", "result", "output", "output_text", "text", "messages")
PASSAGE_KEYS = ("passages", "context", "source_documents", "documents")
"""Names in the inputs and outputs of chains, the usual one first."""

_EXAMPLE = "a Runnable, or a function that returns one, e.g. my_app.chain:chain"


def runnable_problems(
    path: str, parameters: Parameters, group: str, question_key: str = "", history_key: str = ""
) -> list[str]:
    """Import the path, and return error messages unless it leads to a Runnable, or to a function that returns one.

    With `group` "pipeline", the Runnable must answer. With "retriever", it must find documents.
    """
    if missing := missing_package_errors(["langchain_core"], f"{group}=langchain", "langchain"):
        return list(map(str, missing))
    if problems := import_problems(path, _EXAMPLE):
        return problems
    target = import_object(path)
    if not _is_runnable(target):
        if isinstance(target, type) or not callable(target):
            return [f"which is a {type(target).__name__}, expected {_EXAMPLE}"]
        return function_problems(target, "", "", parameters, group)
    fields = sorted({str(spec.id) for spec in target.config_specs})
    unknown = [
        f"which has no configurable field {name!r}, expected at least one of {', '.join(fields) or 'none'} as "
        f"parameters; a function that returns the {'chain' if group == 'pipeline' else 'retriever'} can have any "
        "parameters"
        for name in parameters
        if name not in fields
    ]
    return unknown + (_chain_problems(target, question_key, history_key) if group == "pipeline" else [])


def load_runnable(path: str, parameters: Parameters) -> "tuple[Runnable[Any, Any], Parameters]":
    """Return a Runnable, and the parameters for its configurable fields.

    A function that returns a Runnable is called with the parameters, and none are left. Raises ComponentError if the
    path cannot be imported, or if the function fails or returns something else.
    """
    target = import_object(path)
    if _is_runnable(target):
        return target, parameters
    try:
        built = target(**parameters)
    except Exception as error:
        raise ComponentError(f"{path}: the function failed ({format_exception(error)}), expected {_EXAMPLE}") from error
    if not _is_runnable(built):
        raise ComponentError(f"{path}: the function returned {preview(built)}, expected a Runnable")
    return built, {}


def load_chain_call(
    path: str, parameters: Parameters, question_key: str, history_key: str
) -> Callable[[str, list[dict[str, str]]], object]:
    """Return the function that invokes a chain, and returns a mapping for `read_reply`.

    Raises ComponentError if the path names no chain with these keys.
    """
    runnable, configurable = load_runnable(path, parameters)
    for problem in _chain_problems(runnable, question_key, history_key):
        raise ComponentError(f"{path}: {problem}")
    question_key, history_key = _input_keys(runnable, question_key, history_key)

    def answer(question: str, history: list[dict[str, str]]) -> object:
        record = ChainRecord()
        value = _input(question, history, question_key, history_key)
        config: Any = {"callbacks": [langchain_handler(record)], "configurable": dict(configurable)}
        return _reply(runnable.invoke(value, config), record)

    return answer


def load_retriever_call(path: str, parameters: Parameters) -> Callable[[str], object]:
    """Return the function that invokes a retriever, and returns passages.

    Raises ComponentError if the path names no Runnable.
    """
    runnable, configurable = load_runnable(path, parameters)
    config: Any = {"configurable": dict(configurable)}

    def search(query: str) -> object:
        documents = runnable.invoke(query, config)
        if isinstance(documents, str) or not isinstance(documents, Sequence):
            raise BadReply(f"got {preview(documents)}, expected a list of documents")
        return [_passage(document) for document in documents]

    return search


def _is_runnable(value: object) -> bool:
    from langchain_core.runnables import Runnable

    return isinstance(value, Runnable)


def _chain_problems(runnable: "Runnable[Any, Any]", question_key: str, history_key: str) -> list[str]:
    from langchain_core.retrievers import BaseRetriever

    if isinstance(runnable, BaseRetriever):
        return ["which is a retriever and does not answer. Use it as retriever=langchain retriever.runnable=..."]
    if question_key:
        return []
    keys, required, is_mapping = _variables(runnable)
    key, earlier = _input_keys(runnable, question_key, history_key)
    if not key and (keys or is_mapping):
        names = f"a mapping with {', '.join(keys)}" if keys else "a mapping"
        return [f"whose input is {names}. Set pipeline.question_key to the name of the question in it."]
    if missing := [name for name in required if name not in (key, earlier)]:
        return [
            f"whose input also needs {', '.join(missing)}, which a question does not provide. Use the chain that finds "
            f"{'it' if len(missing) == 1 else 'them'}, or set pipeline.question_key if it needs only the question."
        ]
    return []


def _input_keys(runnable: "Runnable[Any, Any]", question_key: str, history_key: str) -> tuple[str, str]:
    """Return the names of the question and of the history in the input. "" for an input that is the question itself,
    and for no history.
    """
    keys, required, _ = _variables(runnable)
    earlier = history_key or next((name for name in HISTORY_KEYS if name in keys), "")
    if not question_key:
        alone = [name for name in required if name != earlier]
        matches = [name for name in QUESTION_KEYS if name in keys]
        question_key = matches[0] if matches else alone[0] if len(alone) == 1 else ""
    return question_key, "" if earlier == question_key else earlier


def _variables(runnable: "Runnable[Any, Any]") -> tuple[list[str], list[str], bool]:
    """Return the names in the input of a chain, the required ones, and True if the input is a mapping.

    The lists are empty if the chain declares no names.
    """
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - Pydantic has no schema for some types of inputs
        return [], [], False
    return list(schema.get("properties", {})), list(schema.get("required", [])), schema.get("type") == "object"


def _input(question: str, history: Sequence[Mapping[str, str]], question_key: str, history_key: str) -> object:
    from langchain_core.messages import AIMessage, HumanMessage

    if not question_key:
        return question
    turns = [message for turn in history for message in (HumanMessage(turn["question"]), AIMessage(turn["answer"]))]
    if question_key == "messages":
        return {"messages": [*turns, HumanMessage(question)]}
    return {question_key: question, **({history_key: turns} if history_key else {})}


def _reply(output: object, record: ChainRecord) -> Mapping[str, object]:
    """Return the answer of an output, its passages, and the tokens of the models that were asked.

    Passages that the output does not have are the documents that retrievers found during the call.
    """
    fields = _fields(output)
    name = next((name for name in ANSWER_KEYS if name in fields), None)
    if name is None:
        expected = ", ".join(ANSWER_KEYS[:3])
        raise BadReply(f"the output has {', '.join(map(str, fields)) or 'nothing'}, expected one of {expected}")
    answer = fields[name]
    if name == "messages" and isinstance(answer, Sequence) and answer:
        answer = answer[-1]
    passage_lists = (_passages(fields[name]) for name in PASSAGE_KEYS if name in fields)
    passages = next((candidate for candidate in passage_lists if candidate is not None), None)
    return {
        "answer": _text(answer),
        "passages": _passages(record.documents) if passages is None else passages,
        "usage": fields.get("usage") or record.usage,
        "seconds": fields.get("seconds"),
    }


def _fields(output: object) -> Mapping[str, object]:
    from langchain_core.messages import BaseMessage
    from pydantic import BaseModel

    if isinstance(output, BaseModel) and not isinstance(output, BaseMessage):  # a structured output
        return dict(output)
    return output if isinstance(output, Mapping) else {"answer": output}


def _text(value: object) -> object:
    from langchain_core.messages import BaseMessage

    return str(value.text) if isinstance(value, BaseMessage) else value


def _passages(value: object) -> list[object] | None:
    """Return the documents of an output as passages, or None if the value is not a list of documents."""
    return (
        None
        if isinstance(value, str) or not isinstance(value, Sequence)
        else [_passage(document) for document in value]
    )


def _passage(document: "Document | object") -> object:
    """Return a document as a record with `text` and hints about its location. Hints of other types are left out."""
    from langchain_core.documents import Document

    if not isinstance(document, Document):
        return document
    start = document.metadata.get("start_index")
    return {
        "text": document.page_content,
        **{name: str(document.metadata.get(name) or "") for name in ("document_id", "source")},
        "start": start if type(start) is int and start >= 0 else None,
    }
