"""A causal language model with random weights that reads bytes. It is as fast as a trained one."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Shape:
    """The size of a model of Qwen2's architecture."""

    n_layers: int
    n_dimensions: int
    n_heads: int
    n_key_value_heads: int
    n_inner: int
    n_tokens: int


SMALL = Shape(n_layers=6, n_dimensions=384, n_heads=6, n_key_value_heads=2, n_inner=1024, n_tokens=8192)
QWEN_7B = Shape(n_layers=28, n_dimensions=3584, n_heads=28, n_key_value_heads=4, n_inner=18_944, n_tokens=152_064)


def save_random_causal(folder: Path, shape: Shape, *, dtype: str, device: str) -> Path:
    """Save the model, made on `device`, and its tokenizer: bytes, and further tokens that no text has."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    pieces = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += [f"token{number}" for number in range(shape.n_tokens - len(pieces))]
    tokenizer = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>", chat_template=template
    ).save_pretrained(folder)
    config = Qwen2Config(
        vocab_size=shape.n_tokens,
        hidden_size=shape.n_dimensions,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        num_key_value_heads=shape.n_key_value_heads,
        intermediate_size=shape.n_inner,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    default_dtype = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            network = Qwen2ForCausalLM(config)
    finally:
        torch.set_default_dtype(default_dtype)
    network.save_pretrained(folder)
    return folder
