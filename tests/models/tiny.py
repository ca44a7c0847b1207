"""Models of a few thousand random weights, in the files that real ones have. Needs torch and transformers."""

from pathlib import Path
from typing import Any

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


def save_sentence_encoder(folder: Path, bert: Path, *, max_tokens: int, prompts: dict[str, str] | None = None) -> Path:
    """A sentence-transformers folder around a BERT encoder: the mean over its tokens, `max_tokens` at most."""
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(bert), device="cpu", prompts=prompts)
    encoder.max_seq_length = max_tokens
    encoder.save(str(folder), create_model_card=False)
    return folder


def save_xlm_roberta(folder: Path, *, seed: int = 0, tokenizer_knows_maximum: bool = True) -> Path:
    """An XLM-R encoder with its tokenizer: it reads MAX_TOKENS tokens."""
    from transformers import XLMRobertaModel

    return _save_xlm_roberta(folder, XLMRobertaModel, seed, tokenizer_knows_maximum)


def save_xlm_roberta_reranker(folder: Path, *, seed: int = 0, n_labels: int = 1) -> Path:
    """An XLM-R sequence classifier with its tokenizer, as BGE's rerankers are: it reads MAX_TOKENS tokens."""
    from transformers import XLMRobertaForSequenceClassification

    return _save_xlm_roberta(folder, XLMRobertaForSequenceClassification, seed, num_labels=n_labels)


def _save_xlm_roberta(
    folder: Path, network: Any, seed: int, tokenizer_knows_maximum: bool = True, **options: int
) -> Path:
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaTokenizer

    pieces = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", *_CHINESE, *_LETTERS, *(f"▁{c}" for c in _LETTERS))
    config = XLMRobertaConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS + 2,  # RoBERTa counts positions from 2
        initializer_range=0.3,
        **options,
    )
    torch.manual_seed(seed)
    network(config).save_pretrained(folder)
    maximum = {"model_max_length": MAX_TOKENS} if tokenizer_knows_maximum else {}
    XLMRobertaTokenizer(vocab=[(piece, -1.0) for piece in pieces], **maximum).save_pretrained(folder)
    return folder


def save_bge_m3(folder: Path, *, seed: int = 0) -> Path:
    """An XLM-R encoder with BGE-M3's two heads, in the files of its published folder: no safetensors."""
    import torch
    from safetensors.torch import load_file

    save_xlm_roberta(folder, seed=seed)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    n_dimensions = len(weights["embeddings.LayerNorm.weight"])
    torch.save(torch.nn.Linear(n_dimensions, 1).state_dict(), folder / "sparse_linear.pt")
    torch.save(torch.nn.Linear(n_dimensions, n_dimensions).state_dict(), folder / "colbert_linear.pt")
    return folder


def save_splade(folder: Path, *, seed: int = 0) -> Path:
    """A BERT with its head for masked tokens, as sentence-transformers saves sparse encoders: it reads MAX_TOKENS
    tokens.
    """
    _sparse_encoder(_splade_modules(folder / "network", seed)).save(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


def save_inference_free(folder: Path, *, seed: int = 0) -> Path:
    """The same for documents, and a table with a weight for each token of a query."""
    import torch
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    of_documents = _splade_modules(folder / "network", seed)
    tokenizer = of_documents[0].tokenizer
    table = SparseStaticEmbedding(tokenizer, weight=torch.rand(len(tokenizer)), frozen=True)
    router = Router.for_query_document(query_modules=[table], document_modules=of_documents)
    _sparse_encoder([router]).save(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


def _sparse_encoder(modules: list[Any]) -> Any:
    from sentence_transformers import SparseEncoder

    return SparseEncoder(modules=modules, device="cpu")


def _splade_modules(folder: Path, seed: int) -> list[Any]:
    import torch
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import SpladePooling
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(_VOCABULARY))}
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS,
        initializer_range=0.1,
    )
    torch.manual_seed(seed)
    BertForMaskedLM(config).save_pretrained(folder)
    BertTokenizer(vocab=vocabulary, model_max_length=MAX_TOKENS).save_pretrained(folder)
    return [Transformer(str(folder), transformer_task="fill-mask"), SpladePooling()]


def save_colbert(
    folder: Path, *, seed: int = 0, prompts: dict[str, str] | None = None, skipped: str = "", **lengths: Any
) -> Path:
    """A BERT with a projection of its tokens to 16 dimensions, as sentence-transformers saves encoders of token
    vectors. `lengths` are query_length, document_length and query_expansion; documents have no vectors of `skipped`
    tokens.
    """
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    network = Transformer(str(save_bert(folder / "network", seed=seed)), **lengths)
    tokens = {"bias": False, "activation_function": torch.nn.Identity(), "module_input_name": "token_embeddings"}
    modules = [
        network,
        Dense(32, 16, **tokens),
        MultiVectorMask(list(skipped)),
        Normalize(module_input_name="token_embeddings"),
    ]
    encoder = MultiVectorEncoder(modules=modules, device="cpu", prompts=prompts)
    encoder.save(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


def save_pylate_colbert(folder: Path) -> Path:
    """The same in the files of PyLate: markers before the texts, queries of 20 tokens, documents of 100."""
    import json

    saved = save_colbert(folder)
    for name in ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"):
        content = json.loads((saved / name).read_text(encoding="utf-8"))
        if name == "modules.json":
            content = content[:2]
            content[1]["type"] = "pylate.models.Dense.Dense"
        elif name == "config_sentence_transformers.json":
            lengths = {"query_length": 20, "document_length": 100}
            content = {"model_type": "ColBERT", "query_prefix": "[Q] ", "document_prefix": "[D] ", **lengths}
        else:
            content = {"max_seq_length": 99, "do_lower_case": False}
        (saved / name).write_text(json.dumps(content), encoding="utf-8")
    return saved


def save_stanford_colbert(folder: Path) -> Path:
    """A ColBERT in the files of Stanford's code: the markers are tokens, queries have 24 tokens, documents 100."""
    import json

    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoTokenizer

    save_bert(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["[unused0]", "[unused1]"])
    tokenizer.save_pretrained(folder)
    weights = {f"bert.{name}": values for name, values in load_file(folder / "model.safetensors").items()}
    words = weights["bert.embeddings.word_embeddings.weight"]
    weights["bert.embeddings.word_embeddings.weight"] = torch.cat([words, torch.randn(len(tokenizer) - len(words), 32)])
    weights["linear.weight"] = torch.randn(16, 32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": ["HF_ColBERT"], "vocab_size": len(tokenizer)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    metadata = {"query_maxlen": 24, "doc_maxlen": 100, "mask_punctuation": True, "dim": 16}
    (folder / "artifact.metadata").write_text(json.dumps(metadata), encoding="utf-8")
    return folder


CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def save_qwen2(folder: Path, *, seed: int = 0, chat_template: str | None = None, max_tokens: int = MAX_TOKENS) -> Path:
    """A causal language model with its tokenizer, whose tokens are bytes and the words yes and no."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return _save_causal(folder, Qwen2Config, Qwen2ForCausalLM, seed, chat_template, max_tokens)


def save_llama(folder: Path, *, seed: int = 0, chat_template: str | None = None) -> Path:
    """Like `save_qwen2`, of another architecture."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return _save_causal(folder, LlamaConfig, LlamaForCausalLM, seed, chat_template)


def save_lora(folder: Path, causal: Path, *, seed: int = 1) -> Path:
    """Save a LoRA adapter that changes the output of a causal model."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    config = LoraConfig(r=4, lora_alpha=32, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(causal), config).save_pretrained(folder)
    return folder


def _save_causal(
    folder: Path,
    of_config: Any,
    of_network: Any,
    seed: int,
    chat_template: str | None,
    max_tokens: int = MAX_TOKENS,
) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    merges = [(word[:end], word[end]) for word in ("Yes", "No", "yes", "no") for end in range(1, len(word))]
    pieces = dict.fromkeys(
        ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges)]
    )
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    ends = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=max_tokens, chat_template=chat_template, **ends
    ).save_pretrained(folder)
    config = of_config(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=max_tokens,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=0,
    )
    torch.manual_seed(seed)
    of_network(config).save_pretrained(folder)
    return folder


def save_static_table(folder: Path, *, seed: int = 0) -> Path:
    """Static embeddings as sentence-transformers saves them: a vector for each token of BERT's vocabulary."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(vocab={token: i for i, token in enumerate(dict.fromkeys(_VOCABULARY))})  # a row for each
    torch.manual_seed(seed)
    table = StaticEmbedding(tokenizer, embedding_dim=24)
    SentenceTransformer(modules=[table], device="cpu").save(str(folder), create_model_card=False)
    return folder
