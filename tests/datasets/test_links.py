"""No data set reads a file outside its folder through a link."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from components.datasets.beir import Beir
from components.datasets.crud_rag import CrudRag
from components.datasets.financerag import QrelsFile, QueriesFile
from components.datasets.multihop_rag import MultiHopRag
from components.datasets.omnieval import OmniEval
from components.datasets.rgb import Rgb
from components.errors import DataError
from components.protocols import Dataset
from tests.datasets import test_beir, test_crud_rag, test_financerag, test_multihop_rag, test_omnieval, test_rgb
from tests.runner.sweeping import REPOSITORY

WRITTEN: dict[str, Callable[[Path], Dataset]] = {
    "beir": lambda root: Beir(str(test_beir.write(root, answers=test_beir.ANSWERS))),
    "crud_rag": lambda root: CrudRag(str(test_crud_rag.write(root))),
    "financerag": lambda root: test_financerag.loader(
        test_financerag.write(root), queries=QueriesFile.BOTH, qrels=QrelsFile.FULL
    ),
    "multihop_rag": lambda root: MultiHopRag(str(test_multihop_rag.write(root))),
    "omnieval": lambda root: OmniEval(str(test_omnieval.write(root))),
    "rgb": lambda root: Rgb(str(test_rgb.write(root))),
}
"""Each data set that reads a folder `root`, with the files of its test."""


def test_every_data_set_with_a_root_has_a_link_case() -> None:
    options = {path.stem: yaml.safe_load(path.read_text()) for path in (REPOSITORY / "conf" / "dataset").glob("*.yaml")}
    assert WRITTEN.keys() == {name for name, fields in options.items() if "root" in fields}


@pytest.mark.parametrize("name", WRITTEN)
def test_links_out_of_any_data_set_root_are_refused(name: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "given", tmp_path / "outside"
    dataset = WRITTEN[name](root)
    before = dataset.fingerprint()
    refused = set()
    for path in sorted(root.rglob("*")):
        path.rename(outside)
        files = [file for file in (outside, *outside.rglob("*")) if file.is_file()]
        contents = {file: file.read_bytes() for file in files}
        for file, content in contents.items():
            file.write_bytes(content + b"\n")  # a file that is read changes the fingerprint
        path.symlink_to(outside)
        try:
            assert dataset.fingerprint() == before, f"it reads {path}"
        except DataError:
            with pytest.raises(DataError, match=f"is a link to {outside}.*, outside of {root}, expected"):
                dataset.load()
            refused.add(path)
        path.unlink()
        for file, content in contents.items():
            file.write_bytes(content)
        outside.rename(path)
    assert dataset.fingerprint() == before
    assert any(path.is_file() for path in refused)
