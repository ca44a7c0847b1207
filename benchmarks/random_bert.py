"""A BERT with random weights that reads the characters of some documents. It is as fast as a trained one."""

from collections.abc import Sequence
from pathlib import Path

MAX_TOKENS = 512


def save_random_bert(
    folder: Path, documents: Sequence[str], *, n_layers: int, n_dimensions: int, architecture: str = "BertModel"
) -> Path:
    """Save the model and its tokenizer, with 12 attention heads. `architecture` is a class of transformers."""
    import torch
    import transformers

    characters = sorted({character for text in documents for character in text})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = dict.fromkeys([*special, *characters, *(f"##{character}" for character in characters)])
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=n_dimensions,
        num_hidden_layers=n_layers,
        num_attention_heads=12,
        intermediate_size=4 * n_dimensions,
        max_position_embeddings=MAX_TOKENS,
    )
    config.num_labels = 1
    torch.manual_seed(0)
    getattr(transformers, architecture)(config).save_pretrained(folder)
    tokens = {token: number for number, token in enumerate(vocabulary)}
    transformers.BertTokenizer(vocab=tokens, model_max_length=MAX_TOKENS).save_pretrained(folder)
    return folder
