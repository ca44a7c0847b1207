"""A check that a pretrained model returns one score per pair."""

from typing import Any

from components.errors import ComponentError

_KINDS = ("ForSequenceClassification", "ForCausalLM")


def require_one_score(model: str, network: Any, n_scores: int) -> None:
    """Raise ComponentError for a transformers model that was not trained to rerank.

    transformers would give a model without a head random weights, with a log message only. Of several scores, one would
    be used for all.
    """
    architecture = next(iter(network.config.architectures or ()), "model of no kind")
    if not architecture.endswith(_KINDS):
        raise ComponentError(
            f"model {model!r} is a {architecture}, expected a reranker: a ...{_KINDS[0]} that was trained to "
            f"rerank, or a ...{_KINDS[1]}; set embedder.model for a model that embeds texts"
        )
    if n_scores != 1:
        raise ComponentError(
            f"model {model!r} returns {n_scores} numbers per pair, expected one: a model trained to rerank, not to "
            "classify"
        )
