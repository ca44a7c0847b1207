"""A check that a pretrained model returns one score per pair."""

from typing import Any

from components.errors import ComponentError
from components.pretrained.token_limit import model_json

_KINDS = ("ForSequenceClassification", "ForCausalLM")


def require_one_score(model: str, network: Any, n_scores: int) -> None:
    """Raise ComponentError for a transformers model that was not trained to rerank.

    transformers would give a model without a head random weights, with a log message only. A model with several scores
    would have one of them used for all.
    """
    architecture = next(iter(network.config.architectures or ()), "model of unknown kind")
    if not architecture.endswith(_KINDS):
        raise ComponentError(
            f"model {model!r} is a {architecture}, expected a reranker: a ...{_KINDS[0]} that was trained to "
            f"rerank, or a ...{_KINDS[1]}. Set embedder.model for a model that embeds texts."
        )
    if n_scores != 1:
        raise ComponentError(
            f"model {model!r} returns {n_scores} numbers per pair, expected one: a model trained to rerank, not to "
            "classify"
        )


def require_torch_activation(model: str, revision: str) -> None:
    """Raise ComponentError if a model's files name an activation that is not a part of `torch.nn`.

    sentence-transformers calls any name that begins with "torch.", and takes a default instead of other names, with a
    log message only.
    """
    config = model_json(model, revision, "config.json")
    names = (
        (config.get("sentence_transformers") or {}).get("activation_fn"),
        config.get("sbert_ce_default_activation_function"),
        model_json(model, revision, "config_sentence_transformers.json").get("activation_fn"),
    )
    for name in map(str, filter(None, names)):
        if not name.startswith("torch.nn.modules."):
            raise ComponentError(
                f"model {model!r}: its files name {name} as the activation, expected a class of torch.nn.modules. Set "
                "reranker.activation=none or sigmoid."
            )
