"""Query engines and retrievers of LlamaIndex as functions."""

from collections.abc import Callable
from typing import Any

from components.errors import ComponentError
from components.pretrained.model_folder import missing_package_errors
from components.user_code.calls import Parameters, format_exception, function_problems, import_object, import_problems

_OF_GROUP = {"pipeline": "a query engine", "retriever": "a retriever or a query engine"}
_OR_FUNCTION = "or a function that returns one, e.g. my_app.engine:engine"


def engine_problems(path: str, parameters: Parameters, group: str) -> list[str]:
    """Import the path, and return error messages unless it leads to an engine, or to a function that returns one.

    `group` is "pipeline" for an engine that answers, and "retriever" for one that finds nodes.
    """
    if missing := missing_package_errors(["llama_index"], f"{group}=llama_index", "llama-index"):
        return list(map(str, missing))
    expected = f"{_OF_GROUP[group]}, {_OR_FUNCTION}"
    if problems := import_problems(path, expected):
        return problems
    target = import_object(path)
    if problems := _kind_problems(target, group):
        is_function = callable(target) and not isinstance(target, type) and not _is_known(target)
        return function_problems(target, "", "", parameters, group) if is_function else problems
    if parameters:
        return [
            f"which has no parameters, got {', '.join(parameters)}, expected a function that takes them and "
            f"returns {_OF_GROUP[group]}"
        ]
    return []


def load_engine(path: str, parameters: Parameters, group: str) -> Any:
    """Return the engine. A function that returns one is called with the parameters.

    Raises ComponentError if the path cannot be imported, or does not lead to an engine of `group`.
    """
    target = import_object(path)
    if not _kind_problems(target, group):
        return target
    try:
        built = target(**parameters)
    except Exception as error:
        raise ComponentError(f"{path}: the function failed ({format_exception(error)})") from error
    for problem in _kind_problems(built, group):
        raise ComponentError(f"{path}: the function returned an object {problem}")
    return built


def load_engine_query(path: str, parameters: Parameters) -> Callable[[str, list[dict[str, str]]], object]:
    """Return the function that queries an engine, and returns a mapping for `read_reply`.

    Raises ComponentError if the path leads to no query engine.
    """
    from llama_index.core.query_engine import CustomQueryEngine

    engine = load_engine(path, parameters, "pipeline")

    def answer(question: str, history: list[dict[str, str]]) -> object:
        response = engine.query(question)
        if hasattr(response, "get_response"):  # the response streams
            response = response.get_response()
        text, nodes = getattr(response, "response", response), getattr(response, "source_nodes", None)
        if not nodes and isinstance(engine, CustomQueryEngine):  # such an engine need not report the nodes that it read
            nodes = None
        return {
            "answer": "" if text is None else text if isinstance(text, str) else str(text),
            "passages": None if nodes is None else [_passage(node) for node in nodes],
        }

    return answer


def load_engine_retrieval(path: str, parameters: Parameters) -> Callable[[str], object]:
    """Return the function that retrieves, and returns passages.

    Raises ComponentError if the path leads to no retriever.
    """
    from llama_index.core import QueryBundle

    engine = load_engine(path, parameters, "retriever")

    return lambda query: [_passage(node) for node in engine.retrieve(QueryBundle(query))]


def _kinds() -> tuple[type, type]:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever

    return BaseQueryEngine, BaseRetriever


def _is_known(value: object) -> bool:
    from llama_index.core.chat_engine.types import BaseChatEngine

    return isinstance(value, (*_kinds(), BaseChatEngine))


def _kind_problems(value: object, group: str) -> list[str]:
    engine, retriever = _kinds()
    if isinstance(value, engine) or (group == "retriever" and isinstance(value, retriever)):
        return []
    if isinstance(value, retriever):
        return ["which is a retriever and does not answer. Use it as retriever=llama_index retriever.engine=..."]
    if _is_known(value):
        return [
            "which is a chat engine, whose memory all calls would share. Make one per question in a function "
            "(pipeline=python), or give its query engine."
        ]
    return [f"which is a {type(value).__name__}, expected {_OF_GROUP[group]}, {_OR_FUNCTION}"]


def _passage(hit: Any) -> object:
    """Return a node with its score as a record with `text` and hints where it is."""
    node = hit.node
    start = getattr(node, "start_char_idx", None)
    source = node.metadata.get("file_name") or node.metadata.get("source")
    return {
        "text": node.get_content(),
        "document_id": str(node.ref_doc_id or ""),
        "source": str(source or ""),
        "start": start if type(start) is int and start >= 0 else None,
    }
