"""Real models, compared with their published figures: `python -m pytest -n 0 -m network tests/network`.

Downloads about 100 MB. Skipped unless selected, and not run during development, which has no network.
"""

from pathlib import Path

import pytest

import runner
from tests.extras import skip_without

skip_without("sentence_transformers", "torch")

pytestmark = [pytest.mark.network, pytest.mark.timeout(3600)]


def test_minilm_reproduces_the_published_ndcg_on_scifact(tmp_path: Path) -> None:
    """NDCG@10 of .6451, as MTEB's leaderboard has it: the first 256 tokens of title and text of whole documents."""
    from huggingface_hub import snapshot_download

    root = snapshot_download("mteb/scifact", repo_type="dataset", allow_patterns=["*.jsonl", "qrels/test.tsv"])
    sweep = runner.run(
        [
            "dataset=beir",
            f"dataset.root={root}",
            "dataset.title_separator=' '",
            "language=en",
            "chunk.size=100000",
            "retriever=dense",
            "embedder=all-minilm-l6-v2",
            "llm=none",
            "metrics=retrieval",
            "tracking=none",
            f"run.results_dir={tmp_path / 'results'}",
        ]
    )
    (cell,) = sweep.cells
    assert cell.metrics["overall"]["ndcg@10_strict"]["value"] == pytest.approx(0.6451, abs=0.002)
