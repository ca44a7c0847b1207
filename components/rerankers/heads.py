"""Whether a pretrained model has what gives a pair its one score."""

from typing import Any

from components.errors import ComponentError

_KINDS = ("ForSequenceClassification", "ForCausalLM")


def require_one_score(model: str, network: Any, n_scores: int) -> None:
    """Raises ComponentError for a model of transformers that was not trained to rerank. One without a head would be
    given one with random weights, which is only logged; of several scores one would be taken for all.
    """
    architecture = next(iter(network.config.architectures or ()), "model of no kind")
    if not architecture.endswith(_KINDS):
        raise ComponentError(
            f"model {model!r} is a {architecture}, expected a reranker: a ...{_KINDS[0]} that was trained to "
            f"rerank, or a ...{_KINDS[1]}; one that embeds texts is for embedder.model"
        )
    if n_scores != 1:
        raise ComponentError(
            f"model {model!r} gives {n_scores} numbers per pair, expected one: a model that was trained to rerank, not "
            "to tell classes apart"
        )
