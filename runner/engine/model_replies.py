"""Stored replies of a model. A user's model has separate replies for each version of the files that it
opened in earlier runs.

The key of the replies covers the code that the source of the model reaches (`compute_replies_key`). Other files that
the model opens are known only after it ran. We record their names and hashes with its replies, before we store the
first reply that may depend on them. If the hash differs in a later run, the replies of that run have another key.
"""

from components.errors import ComponentError
from components.protocols import LLM
from components.records import Answer, AnswerState
from runner.engine.ask import Asker, ReportProgress, compute_replies_key, is_language_model
from runner.engine.broken_contracts import class_name
from runner.engine.identity import hash_description
from runner.engine.plugins.plugin_loading import code_class, opened_by_model
from runner.engine.source_code import current_digest, is_ours
from runner.engine.store import Store

_OPENED = "opened: "
"""First part of the keys of records among the replies. The keys of requests are hashes."""


def has_users_code(llm: LLM) -> bool:
    """Return True for a user-defined language model."""
    return is_language_model(llm) and not is_ours(code_class(llm))


def find_changed_files(llm: LLM, purpose: str, store: Store) -> dict[str, str]:
    """Return files that the model opened in an earlier run and that have changed since, with their current digests."""
    if not has_users_code(llm):
        return {}
    records = store.replies(compute_replies_key(llm, purpose))
    first = records.get_all(records.keys(_OPENED))
    now = {name: current_digest(code_class(llm), name) for name in (key.removeprefix(_OPENED) for key in sorted(first))}
    return {name: digest for name, digest in now.items() if digest != first[_OPENED + name].text}


def replies_name(llm: LLM, purpose: str, store: Store) -> str:
    """Return the name of the store's folder for the replies of a model, given the current contents of its files."""
    key, changed = compute_replies_key(llm, purpose), find_changed_files(llm, purpose, store)
    return hash_description([key, changed]) if changed else key


def build_asker(llm: LLM, purpose: str, store: Store, report: ReportProgress = lambda done, total: None) -> Asker:
    """Return the Asker of a model for one purpose, which stores replies and records what a user's model opens."""
    name = replies_name(llm, purpose, store)
    recorded = set[str]()

    def note_files() -> None:
        cls = code_class(llm)
        opened = opened_by_model(cls)
        if opened <= recorded:
            return
        records = store.replies(compute_replies_key(llm, purpose))
        known = records.keys(_OPENED)
        new = [each for each in sorted(opened) if _OPENED + each not in known]
        records.add_all([Answer(_OPENED + each, AnswerState.OK, current_digest(cls, each)) for each in new])
        recorded.update(opened)
        if replies_name(llm, purpose, store) != name:
            raise ComponentError(
                f"{class_name(cls)}: another run began at the same time with other contents of "
                f"{', '.join(sorted(opened))}. Run the same command again: finished work is cached."
            )

    return Asker(llm, store.replies(name), report, note_files if has_users_code(llm) else lambda: None)
