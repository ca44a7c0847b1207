"""Detection of an edit to a user's language model that makes earlier paid answers unusable."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TypedDict

from components.errors import DamagedEntryError
from components.protocols import LLM
from runner.engine.broken_contracts import class_name
from runner.engine.identity import describe, hash_description
from runner.engine.model_replies import find_changed_files, has_users_code, replies_name
from runner.engine.plugins.plugin_loading import code_class
from runner.engine.source_code import model_modules
from runner.engine.store import Store

KIND = "model_code"
"""Kind under which the store saves the code of a model, by the key of its replies."""


@dataclass(frozen=True)
class EditedModel:
    """A user's model with changed code. Its earlier code gave `n_answers` of the answers that the plan lacks.

    `modules` are the modules and files that were changed, added or removed since then.
    """

    name: str
    n_answers: int
    modules: tuple[str, ...]


class _StoredCode(TypedDict):
    """A part in the store: the model without its code, and the digest of each module."""

    model: str
    modules: dict[str, str]


def record_code(llm: LLM, purpose: str, store: Store) -> None:
    """Store the code of a user's model, once per version of the code. Does nothing for a model of this project."""
    key = replies_name(llm, purpose, store)
    if has_users_code(llm) and not store.is_cached(KIND, key):
        code = _StoredCode(model=_key_without_code(llm, purpose), modules=_files(llm, purpose, store))
        store.write(KIND, key, {"code": code}, seconds=0.0, made_from=None)


def find_edited_model(llm: LLM, purpose: str, missing: Collection[str], store: Store) -> EditedModel | None:
    """Return the edit that invalidated most of the `missing` replies (keys of requests). None if earlier code gave
    none.
    """
    if not has_users_code(llm):
        return None
    earlier = _earlier_code(llm, purpose, store)
    candidates = [(modules, len(store.replies(key).get_all(missing))) for key, modules in earlier]
    then, n_answers = max(candidates, key=itemgetter(1), default=({}, 0))
    if not n_answers:
        return None
    now = _files(llm, purpose, store)
    changed = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
    return EditedModel(class_name(code_class(llm)), n_answers, tuple(changed))


def _earlier_code(llm: LLM, purpose: str, store: Store) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the keys of the model's replies under other code, with the digests of that code's modules."""
    current, model = replies_name(llm, purpose, store), _key_without_code(llm, purpose)
    for entry in store.entries(KIND):
        try:
            code: _StoredCode = entry.part("code")
        except DamagedEntryError:  # the plan then lacks this note, but its counts stay correct
            continue
        if entry.manifest.key != current and code["model"] == model:
            yield entry.manifest.key, code["modules"]


def _files(llm: LLM, purpose: str, store: Store) -> dict[str, str]:
    """Return the digests of the model's modules, and of files that it opened in an earlier run and that have changed
    since.
    """
    return {**model_modules(code_class(llm)), **find_changed_files(llm, purpose, store)}


def _key_without_code(llm: LLM, purpose: str) -> str:
    return hash_description([purpose, describe(llm, code_of=lambda cls: "")])
