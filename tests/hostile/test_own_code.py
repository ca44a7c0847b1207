"""A model's own Python modules, and kernels of the hub that it names, run only with trust, without a question."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from components.embedders.bge_m3 import BgeM3
from components.embedders.flag_embedding import FlagEmbeddings
from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.judges.claim_checks import Check
from components.judges.nli import CrossEncoderEntailment
from components.llms.transformers_chat import TransformersChat
from components.metrics.bert_score import BertScore
from components.metrics.text2vec import Text2VecSimilarity
from components.pretrained.dtype import Dtype
from components.pretrained.multi_vector_model import MultiVectorModel
from components.pretrained.sentence_encoder import Side
from components.pretrained.sparse_model import SparseModel
from components.records import Kind, Message, Passages, Request, Sample
from components.rerankers.cross_encoder import PretrainedCrossEncoder
from components.rerankers.flag_llm_reranker import FlagLanguageModel
from components.rerankers.flag_reranker import FlagCrossEncoder
from tests.contracts.llm_contract import request
from tests.contracts.metric_contract import qa_sample, score_texts
from tests.extras import skip_without
from tests.models import tiny
from tests.rerankers.pretrained import scores_of, text_pairs

skip_without("FlagEmbedding", "bert_score", "peft", "sentence_transformers", "torch")


class Reader(NamedTuple):
    """A function that saves a model to a new folder, and one that reads it there."""

    save: Callable[[Path], Path]
    read: Callable[[str], object]


def _sentence_encoder(folder: Path) -> Path:
    bert = tiny.save_bert(folder.with_name("bert"))
    return tiny.save_sentence_encoder(folder, bert, max_tokens=64)


def _entailment(folder: Path) -> Path:
    tiny.save_xlm_roberta_reranker(folder, n_labels=3)
    _change(folder / "config.json", {"id2label": dict(enumerate(("entailment", "neutral", "contradiction")))})
    return folder


def _chat_model(folder: Path) -> Path:
    return tiny.save_llama(folder, chat_template=tiny.CHAT_TEMPLATE)


def _verdicts(folder: str) -> object:
    check = Check("c", Sample("s", "qa", Kind.QA, "?", ()), ("北京",), ("上海",))
    return CrossEncoderEntailment(folder, device="cpu").verdicts([check])


def _chat(folder: str, adapter: str = "") -> object:
    llm = TransformersChat(folder, "", adapter=adapter, dtype=Dtype.FLOAT32, max_new_tokens=2, device="cpu")
    return list(llm.generate([Request("r", (Message("user", "yes?"),), request("r").sample, ())]))


_TEXTS = Passages(["北京"])

READERS = {
    "embedder": Reader(
        _sentence_encoder, lambda folder: SentenceTransformers(folder, "", device="cpu").embed_chunks(_TEXTS, {})
    ),
    "embedder of FlagEmbedding": Reader(
        tiny.save_bert, lambda folder: FlagEmbeddings(folder, "", device="cpu").embed_chunks(_TEXTS, {})
    ),
    "embedder with heads": Reader(
        tiny.save_bge_m3, lambda folder: BgeM3(folder, device="cpu").embed_chunks(_TEXTS, {})
    ),
    "sparse encoder": Reader(
        tiny.save_splade, lambda folder: SparseModel(folder, "").encode(["北京"], Side.QUERY, "", None, "cpu")
    ),
    "sparse encoder with a table": Reader(
        tiny.save_inference_free, lambda folder: SparseModel(folder, "").encode(["北京"], Side.QUERY, "", None, "cpu")
    ),
    "encoder of token vectors": Reader(
        tiny.save_colbert, lambda folder: MultiVectorModel(folder, "").encode(["北京"], Side.QUERY, "", None, "cpu")
    ),
    "reranker": Reader(
        tiny.save_xlm_roberta_reranker,
        lambda folder: scores_of(PretrainedCrossEncoder(folder, device="cpu"), text_pairs()),
    ),
    "reranker of FlagEmbedding": Reader(
        tiny.save_xlm_roberta_reranker, lambda folder: scores_of(FlagCrossEncoder(folder, device="cpu"), text_pairs())
    ),
    "language model of FlagEmbedding": Reader(
        _chat_model, lambda folder: scores_of(FlagLanguageModel(folder, device="cpu"), text_pairs())
    ),
    "judge": Reader(_entailment, _verdicts),
    "metric of sentences": Reader(
        _sentence_encoder, lambda folder: score_texts(Text2VecSimilarity(folder, ""), [qa_sample("北京")], ["北京"])
    ),
    "metric of tokens": Reader(
        tiny.save_bert,
        lambda folder: score_texts(BertScore(folder, "", 1, device="cpu"), [qa_sample("北京")], ["北京"]),
    ),
    "language model": Reader(_chat_model, _chat),
}


@pytest.fixture(autouse=True)
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer every question on the terminal with "y", and record the question."""
    asked: list[str] = []

    def answer(question: object = "") -> str:
        asked.append(str(question))
        return "y"

    monkeypatch.setattr("builtins.input", answer)
    return asked


@pytest.mark.parametrize("reader", READERS)
def test_custom_model_code_is_refused_without_a_prompt(reader: str, tmp_path: Path, questions: list[str]) -> None:
    folder, mark = READERS[reader].save(tmp_path / "model"), tmp_path / "it-ran"
    files = _name_own_modules(folder, mark)
    for file in folder.rglob("config.json"):
        if "model_type" in json.loads(file.read_text(encoding="utf-8")):
            _change(file, {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}})

    with pytest.raises(ComponentError, match=rf"auto_map in .*{files[-1]}\): it runs only with trust_remote_code=true"):
        READERS[reader].read(str(folder))

    assert (mark.exists(), questions) == (False, [])


@pytest.mark.parametrize("reader", READERS)
def test_custom_code_of_a_known_model_type_is_ignored(reader: str, tmp_path: Path, questions: list[str]) -> None:
    folder, mark = READERS[reader].save(tmp_path / "model"), tmp_path / "it-ran"
    classes = ("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification")
    for file in folder.rglob("config.json"):
        _write_module(file.parent, mark)
        if "model_type" in json.loads(file.read_text(encoding="utf-8")):
            _change(file, {"auto_map": dict.fromkeys(classes, "own.Own")})

    READERS[reader].read(str(folder))

    assert (mark.exists(), questions) == (False, [])


KERNEL: Mapping[str, object] = {"attn_implementation": "someone/kernels"}
SETTINGS: dict[str, Mapping[str, object]] = {
    "attention": KERNEL,
    "attention of a saved config": {"_attn_implementation": "someone/kernels@v1:forward"},
    "attention of a part": {"attn_implementation": {"text_config": "someone/kernels"}},
    "configuration of a part": {"text_config": {"_attn_implementation": "paged|someone/kernels"}},
    "options of the loader": {"model_args": {**KERNEL, "allow_all_kernels": True}},
    "all kernels": {"model_kwargs": {"allow_all_kernels": True}},
    "replaced layers": {"model_args": {"use_kernels": True}},
    "replacements of layers": {"model_args": {"kernel_config": {"RMSNorm": "someone/kernels:RMSNorm"}}},
}


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package kernels, which fails the test when a kernel is fetched."""

    def get_kernel(name: str, **_: object) -> None:
        pytest.fail(f"fetched the kernel {name}")

    monkeypatch.setattr("transformers.integrations.hub_kernels.is_kernels_available", lambda: True)
    monkeypatch.setattr("transformers.integrations.hub_kernels.get_kernel_hub", get_kernel, raising=False)


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("reader", READERS)
def test_hub_kernels_of_a_model_are_refused_by_name(reader: str, tmp_path: Path) -> None:
    folder = READERS[reader].save(tmp_path / "model")
    for file in folder.rglob("config.json"):
        _change(file, KERNEL)

    with pytest.raises(
        ComponentError, match=r'config\.json requires code from the hub.*"someone/kernels".*trust_remote_code'
    ):
        READERS[reader].read(str(folder))


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("file", ["sentence_bert_config.json", "config.json"])
def test_every_setting_that_loads_a_kernel_is_refused(setting: str, file: str, tmp_path: Path) -> None:
    folder = READERS["embedder"].save(tmp_path / "model")
    _change(folder / file, SETTINGS[setting])

    with pytest.raises(ComponentError, match=f"{file} requires code from the hub.*trust_remote_code=true"):
        READERS["embedder"].read(str(folder))


@pytest.mark.parametrize("place", ["linked folder", "escaped key"])
def test_kernel_setting_behind_a_link_or_escape_is_found(place: str, tmp_path: Path) -> None:
    folder = READERS["embedder"].save(tmp_path / "model")
    if place == "linked folder":
        (tmp_path / "elsewhere").mkdir()
        _change(tmp_path / "elsewhere" / "sentence_bert_config.json", KERNEL)
        (folder / "linked").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere" / "back").symlink_to(folder)  # a circle
    else:
        (folder / "sentence_bert_config.json").write_text(r'{"\u0061ttn_implementation": "someone/kernels"}')

    with pytest.raises(ComponentError, match=r"sentence_bert_config\.json requires code from the hub"):
        READERS["embedder"].read(str(folder))


def test_adapter_kernels_are_refused(tmp_path: Path) -> None:
    model = _chat_model(tmp_path / "model")
    adapter = tiny.save_lora(tmp_path / "adapter", model)
    _change(adapter / "adapter_config.json", {"use_kernels": True})

    with pytest.raises(ComponentError, match=r"adapter_config\.json requires code from the hub"):
        _chat(str(model), str(adapter))


def test_hub_model_kernels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    commit = "a" * 40
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    folder = tiny.save_bert(tmp_path / "models--owner--name" / "snapshots" / commit)
    _change(folder / "config.json", KERNEL)

    with pytest.raises(ComponentError, match=r"config\.json requires code from the hub"):
        score_texts(BertScore("owner/name", commit, 1, device="cpu"), [qa_sample("北京")], ["北京"])


def test_built_in_attention_runs_without_trust(tmp_path: Path) -> None:
    folder = READERS["embedder"].save(tmp_path / "model")
    _change(folder / "config.json", {"attn_implementation": "eager"})
    _change(folder / "sentence_bert_config.json", {"model_args": {"use_kernels": False, "kernel_config": None}})

    READERS["embedder"].read(str(folder))


@pytest.mark.parametrize("file", ["vocab.json", "1_Table/tokenizer.json", "1_Table/idf.json", "config.json"])
def test_vocabulary_words_are_not_taken_for_kernel_settings(file: str, tmp_path: Path) -> None:
    folder = READERS["embedder"].save(tmp_path / "model")
    words = {"use_kernels": 7, "attn_implementation": 8, "allow_all_kernels": 9}
    (folder / "1_Table").mkdir()
    tables: dict[str, Mapping[str, object]] = {
        "config.json": {"label2id": words, "id2label": {"7": "use_kernels"}},
        "1_Table/tokenizer.json": words,
    }
    if (folder / file).exists():
        _change(folder / file, tables.get(file, words))
    else:
        (folder / file).write_text(json.dumps(tables.get(file, words)))

    READERS["embedder"].read(str(folder))


def _with_layer(folder: Path, activation: str) -> Path:
    """A sentence encoder with a layer whose file names this activation."""
    from sentence_transformers.base.modules import Dense

    _sentence_encoder(folder)
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    layer = {"idx": len(modules), "name": "layer", "path": "9_Dense", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([*modules, layer]), encoding="utf-8")
    (folder / "9_Dense").mkdir()
    Dense(32, 8).save(str(folder / "9_Dense"))
    _change(folder / "9_Dense" / "config.json", {"activation_function": activation})
    return folder


@pytest.mark.parametrize("activation", ["own.Own", "transformers.activations.GELUActivation", "relu"])
@pytest.mark.parametrize("reader", ["embedder", "metric of sentences", "encoder of token vectors"])
def test_model_activation_outside_of_torch_is_refused_by_name(reader: str, activation: str, tmp_path: Path) -> None:
    """sentence-transformers would take Tanh instead."""
    if reader == "encoder of token vectors":
        folder = tiny.save_colbert(tmp_path / "model")
        (file,) = folder.glob("*_Dense/config.json")
        _change(file, {"activation_function": activation})
    else:
        folder = _with_layer(tmp_path / "model", activation)
    _write_module(folder, tmp_path / "it-ran")

    with pytest.raises(ComponentError, match=rf"_Dense/config\.json names the activation '{activation}'.*of torch"):
        READERS[reader].read(str(folder))
    assert not (tmp_path / "it-ran").exists()


def test_torch_activations_of_a_model_need_no_trust(tmp_path: Path) -> None:
    folder = _with_layer(tmp_path / "model", "torch.nn.modules.activation.ReLU")
    _change(folder / "config.json", {"activation_function": "gelu_new"})

    READERS["embedder"].read(str(folder))


_STUB = """
def get_kernel(name, **options):
    print("fetched", name, flush=True)
    raise OSError("no network")


class _Any:
    def __init__(self, *arguments, **options): ...
    def __call__(self, *arguments, **options): return arguments[0] if arguments else self


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Any
"""

_CHOSEN_KERNELS = """
import sys

import transformers.modeling_flash_attention_utils
from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.records import Passages

try:
    embedder = SentenceTransformers(sys.argv[1], "", device="cpu", trust_remote_code=sys.argv[2] == "trusted")
    embedder.embed_chunks(Passages(["a"]), {})
except ComponentError as error:
    print(error)

from transformers.integrations import hub_kernels
from transformers.utils.import_utils import is_flash_attn_kernel_fallback_available

is_flash_attn_kernel_fallback_available(2)
try:
    hub_kernels.get_kernel("kernels-community/quantization-eetq", version=1)
except OSError as error:
    print("quantized:", error)
if sys.argv[2] == "untrusted":
    print("optional:", hub_kernels.lazy_load_kernel(next(iter(hub_kernels._HUB_KERNEL_MAPPING))))
"""


@pytest.mark.parametrize("trust", ["untrusted", "trusted"])
def test_kernels_chosen_by_transformers_need_trust(trust: str, tmp_path: Path) -> None:
    """A stub of the package kernels notes what would be downloaded and run."""
    site = tmp_path / "site"
    (site / "kernels").mkdir(parents=True)
    (site / "kernels" / "__init__.py").write_text(_STUB)
    (site / "kernels-0.18.5.dist-info").mkdir()
    (site / "kernels-0.18.5.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: kernels\nVersion: 0.18.5\n"
    )
    folder = READERS["embedder"].save(tmp_path / "model")
    _change(folder / "sentence_bert_config.json", {"model_args": {"attn_implementation": "flash_attention_2"}})

    done = subprocess.run(
        [sys.executable, "-c", _CHOSEN_KERNELS, str(folder), trust],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    if trust == "untrusted":
        assert "fetched" not in done.stdout
        assert "flash-attn2 is a kernel from the hub, which runs only with trust_remote_code=true" in done.stdout
        assert "quantized: kernels-community/quantization-eetq is a kernel from the hub" in done.stdout
        assert "optional: None" in done.stdout
    else:
        assert "fetched kernels-community/flash-attn2" in done.stdout
        assert "fetched kernels-community/quantization-eetq" in done.stdout


def test_trusted_model_runs_its_code_and_may_name_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, mark = READERS["embedder"].save(tmp_path / "model"), tmp_path / "it-ran"
    _name_own_modules(folder, mark)
    _change(folder / "sentence_bert_config.json", {"model_args": {"use_kernels": False, "allow_all_kernels": True}})

    trusting = SentenceTransformers(str(folder), "", device="cpu", trust_remote_code=True)
    assert trusting.embed_chunks(_TEXTS, {}).shape == (1, 32)
    assert mark.exists()


def test_model_part_that_cannot_receive_trust_is_an_error(tmp_path: Path, questions: list[str]) -> None:
    folder = READERS["sparse encoder with a table"].save(tmp_path / "model")
    _name_own_modules(folder / "query_0_SparseStaticEmbedding", tmp_path / "it-ran")

    with pytest.raises(ComponentError, match="ignores trust_remote_code"):
        SparseModel(str(folder), "", trust_remote_code=True).encode(["北京"], Side.QUERY, "", None, "cpu")
    assert questions == []


_PROGRAM = """
import sys

from components.pretrained.sentence_encoder import Side
from components.pretrained.sparse_model import SparseModel

SparseModel(sys.argv[1], "").encode(["a"], Side.QUERY, "", None, "cpu")
"""


def test_confirming_input_runs_no_model_code(tmp_path: Path) -> None:
    folder = READERS["sparse encoder with a table"].save(tmp_path / "model")
    mark = tmp_path / "it-ran"
    _name_own_modules(folder, mark)

    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder)],
        input="y\n" * 100,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(tmp_path / "modules")},
        timeout=120,
        check=False,
    )

    assert ended.returncode == 1
    assert "it runs only with trust_remote_code=true" in ended.stderr
    assert "[y/N]" not in ended.stdout
    assert not mark.exists()


def _name_own_modules(folder: Path, mark: Path) -> list[str]:
    """Have the tokenizers in a folder take their class from a module that leaves a mark. Return their paths in it."""
    files = sorted(folder.rglob("tokenizer_config.json"))
    for file in files:
        _change(file, {"auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}, "tokenizer_class": "Own"})
        for place in (folder, file.parent):
            _write_module(place, mark)
    return [str(file.relative_to(folder)) for file in files]


def _write_module(folder: Path, mark: Path) -> None:
    code = f"""
from pathlib import Path

from transformers import BertTokenizer

Path({str(mark)!r}).touch()


class Own(BertTokenizer):
    pass
"""
    (folder / "own.py").write_text(code, encoding="utf-8")


def _change(file: Path, changes: Mapping[str, object]) -> None:
    present = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    file.write_text(json.dumps({**present, **changes}), encoding="utf-8")
