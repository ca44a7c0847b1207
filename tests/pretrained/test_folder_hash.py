"""The hash of a model's folder covers everything that is loaded from it."""

import json
from pathlib import Path

import pytest

from components.errors import ComponentError
from components.pretrained.model_folder import hash_folder, model_problems, read_folder_stamps, tokenizer_problems


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.bin").write_text(text)
    return folder


def adapter_of(folder: Path, base: str) -> Path:
    write(folder, adapter_model="weights of the adapter")
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
    return folder


def test_hash_covers_files_behind_a_linked_subfolder(tmp_path: Path) -> None:
    head = write(tmp_path / "head", dense="before")
    model = write(tmp_path / "model", weights="encoder")
    without = hash_folder(str(model))
    (model / "2_Dense").symlink_to(head)
    before = hash_folder(str(model))
    write(head, dense="retrained")
    assert len({without, before, hash_folder(str(model))}) == 3


def test_weights_and_tokenizer_behind_a_linked_subfolder_are_found(tmp_path: Path) -> None:
    write(tmp_path / "real", weights="encoder")
    (tmp_path / "real" / "tokenizer.json").write_text("{}")
    model = tmp_path / "model"
    model.mkdir()
    assert model_problems(str(model), "")
    (model / "0_Transformer").symlink_to(tmp_path / "real")
    assert model_problems(str(model), "") + tokenizer_problems(str(model)) == []


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", a="a"), write(tmp_path / "other", b="b")
    (one / "other").symlink_to(other)
    (other / "one").symlink_to(one)
    assert [name for name, _, _ in read_folder_stamps(str(one))] == ["a.bin", "other/b.bin"]


def test_hash_of_an_adapter_covers_its_base(tmp_path: Path) -> None:
    base = write(tmp_path / "base", weights="before")
    model = adapter_of(tmp_path / "tuned", str(base))
    before, alone, stamps = (
        hash_folder(str(model)),
        hash_folder(str(model), is_adapter=True),
        read_folder_stamps(str(model)),
    )
    write(base, weights="trained again")
    assert hash_folder(str(model)) != before
    assert read_folder_stamps(str(model)) != stamps
    assert hash_folder(str(model), is_adapter=True) == alone
    assert model_problems(str(model), "") == []


def test_adapter_next_to_its_own_base_is_hashed_once(tmp_path: Path) -> None:
    model = adapter_of(tmp_path / "tuned", str(tmp_path / "tuned"))
    assert hash_folder(str(model)) == hash_folder(str(model), is_adapter=True)


@pytest.mark.parametrize("base", ["owner/name", "/gone"])
def test_adapter_of_a_model_outside_local_folders_is_refused(base: str, tmp_path: Path) -> None:
    model = adapter_of(tmp_path / "tuned", base)
    (problem,) = model_problems(str(model), "")
    assert f"is an adapter of '{base}', which is not a local folder" in problem


def test_unreadable_file_of_a_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """safetensors writes weights that only their owner may read."""
    model = write(tmp_path / "model", weights="encoder")

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    for method in ("iterdir", "open"):
        with monkeypatch.context() as patched:
            patched.setattr(Path, method, refuse)
            with pytest.raises(ComponentError, match=r"model: cannot read .*/model.*denied"):
                hash_folder(str(model))
