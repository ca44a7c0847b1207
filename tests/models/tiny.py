"""Models of a few thousand random weights, in the files that real ones have. Needs torch and transformers."""

from pathlib import Path

N_LAYERS = 2
MAX_TOKENS = 300
"""More than the 256 that text2vec reads."""

_CHINESE = "北京是中国的首都上海杭州浙江省会共有人参加其中获奖议在举行没考答案为空。，"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_CHINESE, *_LETTERS, *(f"##{c}" for c in _LETTERS))


def save_bert(folder: Path, *, seed: int = 0, tokenizer_knows_maximum: bool = True) -> Path:
    """A BERT encoder with its tokenizer, in safetensors: N_LAYERS layers, MAX_TOKENS positions."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    config = BertConfig(
        vocab_size=len(_VOCABULARY),
        hidden_size=32,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS,
        initializer_range=0.3,
    )
    torch.manual_seed(seed)
    BertModel(config).save_pretrained(folder)
    maximum = {"model_max_length": MAX_TOKENS} if tokenizer_knows_maximum else {}
    BertTokenizer(vocab={token: i for i, token in enumerate(_VOCABULARY)}, **maximum).save_pretrained(folder)
    return folder


def save_sentence_encoder(folder: Path, bert: Path, *, max_tokens: int) -> Path:
    """A sentence-transformers folder around a BERT encoder: the mean over its tokens, `max_tokens` at most."""
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(bert), device="cpu")
    encoder.max_seq_length = max_tokens
    encoder.save(str(folder), create_model_card=False)
    return folder


def save_xlm_roberta_reranker(folder: Path, *, seed: int = 0, n_labels: int = 1) -> Path:
    """An XLM-R sequence classifier with its tokenizer, as BGE's rerankers are: it reads MAX_TOKENS tokens."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification, XLMRobertaTokenizer

    pieces = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", *_CHINESE, *_LETTERS, *(f"▁{c}" for c in _LETTERS))
    config = XLMRobertaConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS + 2,  # RoBERTa counts positions from 2
        initializer_range=0.3,
        num_labels=n_labels,
    )
    torch.manual_seed(seed)
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    tokenizer = XLMRobertaTokenizer(vocab=[(piece, -1.0) for piece in pieces], model_max_length=MAX_TOKENS)
    tokenizer.save_pretrained(folder)
    return folder
