"""Checks of a model's id and folder, shared by BertScore and Text2VecSimilarity."""

import importlib.util
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from components.errors import ComponentError, MissingExtraError
from components.metrics.bert_score import BertScore
from components.metrics.text2vec import Text2VecSimilarity
from tests.contracts.metric_contract import qa_sample, score_texts, value_of
from tests.extras import skip_without
from tests.models.tiny import save_bert

skip_without("bert_score", "sentence_transformers", "torch")

Build = Callable[..., BertScore | Text2VecSimilarity]


def _bert_score(model: str, revision: str = "", device: str = "cpu") -> BertScore:
    return BertScore(model, revision, num_layers=1, device=device)


def _text2vec(model: str, revision: str = "", device: str = "cpu") -> Text2VecSimilarity:
    return Text2VecSimilarity(model, revision, device=device)


COMMIT, OTHER_COMMIT = "a" * 40, "b" * 40

pytestmark = pytest.mark.parametrize("build", [_bert_score, _text2vec])


class _RunsCode:
    """Makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self._path, "w")


def _score(metric: BertScore | Text2VecSimilarity) -> float:
    (scores,) = score_texts(metric, [qa_sample("中国的首都是北京")], ["上海是首都"]).values()
    return value_of(scores)


def _weights(folder: Path, content: bytes = b"weights") -> Path:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(content)
    return folder


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return save_bert(tmp_path / "bert")


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub; the hub itself is out of reach."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


class TestCheck:
    def test_model_folder_and_pinned_id_pass_the_check(self, build: Build, tmp_path: Path) -> None:
        assert build(str(_weights(tmp_path / "model"))).check() == []
        assert build("owner/name", COMMIT).check() == []

    @pytest.mark.parametrize("revision", ["", "main", "v1.0"])
    def test_model_id_requires_a_commit(self, build: Build, revision: str) -> None:
        (problem,) = build("owner/name", revision).check()
        assert problem.startswith(f"revision: got '{revision}', expected the commit of 'owner/name'")
        assert (f"If a local folder is meant: {Path('owner/name').absolute()} does not exist" in problem) == (
            not revision
        )

    @pytest.mark.parametrize("model", ["/no/such/folder", "./missing", "../missing", "~/missing/model", "a/b/c"])
    def test_missing_model_folder_is_rejected(self, build: Build, model: str) -> None:
        assert build(model).check() == [f"model: the folder {Path(model).expanduser()} does not exist"]

    def test_model_folder_with_a_revision_is_rejected(self, build: Build, tmp_path: Path) -> None:
        (problem,) = build(str(_weights(tmp_path / "model")), COMMIT).check()
        assert "Set revision=''" in problem

    def test_model_folder_without_weights_is_rejected(self, build: Build, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").touch()
        (problem,) = build(str(tmp_path)).check()
        assert "has no weights (*.safetensors or *.bin)" in problem

    def test_model_folder_with_bin_weights_passes_the_check(self, build: Build, tmp_path: Path) -> None:
        (tmp_path / "pytorch_model.bin").touch()
        assert build(str(tmp_path)).check() == []

    def test_empty_model_name_is_rejected(self, build: Build) -> None:
        (problem,) = build("").check()
        assert problem.startswith("model: is empty")

    def test_missing_torch_is_named_with_its_extra(
        self, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        metric = build(str(_weights(tmp_path / "model")))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else name)
        (problem,) = metric.check()
        assert f"the metric {metric.names[0]} needs the package 'torch'" in problem
        assert ".[models]" in problem
        with pytest.raises(MissingExtraError, match="'torch'"):
            _score(metric)


class TestContentHash:
    def test_content_hash_ignores_path_and_download_cache(self, build: Build, tmp_path: Path) -> None:
        first, second = _weights(tmp_path / "first"), _weights(tmp_path / "second")
        (second / ".cache").mkdir()
        (second / ".cache" / "downloaded").write_text("today")
        assert build(str(first)).content_hash() == build(str(second)).content_hash() != ""

    def test_content_hash_depends_on_file_contents_and_names(self, build: Build, tmp_path: Path) -> None:
        model = _weights(tmp_path / "model")
        hashes = [build(str(model)).content_hash()]
        (model / "model.safetensors").write_bytes(b"other weights")
        hashes.append(build(str(model)).content_hash())
        (model / "model.safetensors").rename(model / "renamed.safetensors")
        hashes.append(build(str(model)).content_hash())
        assert len(set(hashes)) == 3

    def test_model_id_has_an_empty_content_hash(self, build: Build) -> None:
        assert build("owner/name", COMMIT).content_hash() == ""

    def test_content_hash_of_a_missing_folder_is_an_error(self, build: Build) -> None:
        with pytest.raises(ComponentError, match="the folder /no/such/folder does not exist"):
            build("/no/such/folder").content_hash()


class TestLoading:
    def test_model_is_loaded_at_the_given_revision(self, build: Build, hub_cache: Path, tmp_path: Path) -> None:
        snapshots = hub_cache / "models--owner--name" / "snapshots"
        folders = [save_bert(snapshots / commit, seed=seed) for seed, commit in enumerate((COMMIT, OTHER_COMMIT))]
        values = [_score(build("owner/name", commit)) for commit in (COMMIT, OTHER_COMMIT)]
        copies = [shutil.copytree(folder, tmp_path / f"copy{i}") for i, folder in enumerate(folders)]
        assert values == pytest.approx([_score(build(str(copy))) for copy in copies], abs=1e-6)
        assert abs(values[0] - values[1]) > 1e-3

    @pytest.mark.usefixtures("hub_cache")
    def test_model_id_that_cannot_be_fetched_suggests_a_local_folder(self, build: Build) -> None:
        advice = r"model 'owner/absent' cannot be loaded .* set `model` to a local folder"
        with pytest.raises(ComponentError, match=advice):
            _score(build("owner/absent", COMMIT))

    def test_damaged_weights_are_an_error(self, build: Build, bert: Path) -> None:
        (bert / "model.safetensors").write_bytes(b"damaged")
        with pytest.raises(ComponentError, match=r"cannot be loaded .*expected a folder that save_pretrained wrote"):
            _score(build(str(bert)))

    def test_pickled_weights_with_unrelated_safetensors_are_not_read(self, build: Build, bert: Path) -> None:
        (bert / "model.safetensors").rename(bert / "adapter.safetensors")
        (bert / "pytorch_model.bin").write_bytes(b"a pickle")
        with pytest.raises(ComponentError, match="cannot be loaded"):
            _score(build(str(bert)))

    def test_bin_weights_equal_safetensors_weights(self, build: Build, bert: Path) -> None:
        import torch
        from safetensors.torch import load_file

        expected = _score(build(str(bert)))
        other = shutil.copytree(bert, bert.with_name("bin"))
        torch.save(load_file(other / "model.safetensors"), other / "pytorch_model.bin")
        (other / "model.safetensors").unlink()
        assert _score(build(str(other))) == pytest.approx(expected, abs=1e-6)

    def test_code_in_pickled_weights_is_not_run(self, build: Build, bert: Path, tmp_path: Path) -> None:
        (bert / "model.safetensors").unlink()
        with (bert / "pytorch_model.bin").open("wb") as file:
            pickle.dump({"weight": _RunsCode(str(tmp_path / "was_run"))}, file)
        with pytest.raises(ComponentError, match="cannot be loaded"):
            _score(build(str(bert)))
        assert not (tmp_path / "was_run").exists()

    def test_code_in_the_model_folder_is_not_run(self, build: Build, bert: Path, tmp_path: Path) -> None:
        config = bert / "config.json"
        own_code = '{"auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}, "model_type": "own",'
        config.write_text(config.read_text().replace('"model_type": "bert",', "").replace("{", own_code, 1))
        (bert / "own.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')")
        with pytest.raises(ComponentError, match="cannot be loaded"):
            _score(build(str(bert)))
        assert not (tmp_path / "was_run").exists()

    def test_unknown_device_is_an_error(self, build: Build, bert: Path) -> None:
        with pytest.raises(ComponentError, match="device: got 'abacus', expected auto or a device that torch can use"):
            _score(build(str(bert), device="abacus"))
