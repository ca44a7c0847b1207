"""Slugs and labels of topics, tasks and subsets."""

import json
import re
from pathlib import Path

from components.datasets.crud_split import SUBSETS
from components.datasets.labels import (
    CRUD_LABELS,
    TASK_LABELS,
    TOPIC_LABELS,
    slug_of_task,
    slug_of_topic,
    topic_slugs,
)

SLUG = re.compile(r"[a-z0-9_]+")


def test_labels_cover_sixteen_topics_and_five_tasks() -> None:
    assert len(TOPIC_LABELS) == 16
    assert list(TASK_LABELS) == ["extractive", "multi_hop", "contrast", "long_form", "conversational"]
    assert all(SLUG.fullmatch(slug) for slug in [*TOPIC_LABELS, *TASK_LABELS])
    assert all(label.isascii() for label in [*TOPIC_LABELS.values(), *TASK_LABELS.values(), *CRUD_LABELS.values()])


def test_every_crud_subset_and_its_group_have_a_label() -> None:
    assert set(CRUD_LABELS) == set(SUBSETS) | {subset.split("/")[0] for subset in SUBSETS}


def test_official_topic_and_task_names_have_labels() -> None:
    assert slug_of_topic("零售银行") == ("retail_banking", "Retail banking")
    assert slug_of_topic("反洗钱（AML）") == slug_of_topic("反洗钱(AML)")
    assert slug_of_topic("反洗钱（AML）") == ("anti_money_laundering", "Anti-money laundering (AML)")
    assert slug_of_task("多轮对话能力") == ("conversational", "Multi-turn conversation")


def test_topic_labels_cover_the_official_topic_tree(shared_data: Path) -> None:
    tree = json.loads((shared_data / "omnieval_layout" / "topic_tree.json").read_text(encoding="utf-8"))
    paths = [(area["topic_name"], topic["topic_name"]) for area in tree["sub_topics"] for topic in area["sub_topics"]]
    assert {slug for slug, _ in topic_slugs(paths).values()} == set(TOPIC_LABELS)


def test_unknown_task_name_is_its_own_label() -> None:
    assert slug_of_task("表格推理问答")[1] == "表格推理问答"
    assert SLUG.fullmatch(slug_of_task("表格推理问答")[0])


def test_equal_topic_names_under_two_areas_are_distinguished() -> None:
    slugs = topic_slugs([("银行", "基金"), ("投资", "基金"), ("投资", "区块链"), ("投资", "区块链")])
    assert slugs["投资", "区块链"] == ("blockchain", "Blockchain")
    assert slugs["银行", "基金"][0] != slugs["投资", "基金"][0]
    assert slugs["银行", "基金"][1] == "银行 - 基金"
