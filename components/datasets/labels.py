"""Slugs and readable English labels of subsets, topics and tasks.

A slug is ASCII in [a-z0-9_], safe in the names of files and metrics. OmniEval's topics (topic_tree.json to depth 2) and
tasks (the names of its files) have fixed slugs. The slug of any other name is made from its letters.
"""

import re
from collections import Counter
from collections.abc import Iterable

from components.text.slugs import make_slug, plain_name

_TOPICS = {
    "零售银行": ("retail_banking", "Retail banking"),
    "商业银行": ("commercial_banking", "Commercial banking"),
    "投资银行": ("investment_banking", "Investment banking"),
    "股票市场": ("stock_market", "Stock market"),
    "债券市场": ("bond_market", "Bond market"),
    "基金": ("funds", "Funds"),
    "衍生品市场": ("derivatives", "Derivatives"),
    "人寿保险": ("life_insurance", "Life insurance"),
    "财产保险": ("property_insurance", "Property insurance"),
    "健康保险": ("health_insurance", "Health insurance"),
    "区块链": ("blockchain", "Blockchain"),
    "人工智能": ("artificial_intelligence", "Artificial intelligence"),
    "大数据": ("big_data", "Big data"),
    "反洗钱(AML)": ("anti_money_laundering", "Anti-money laundering (AML)"),
    "合规审计": ("compliance_audit", "Compliance audit"),
    "监管报告": ("regulatory_reporting", "Regulatory reporting"),
}

_TASKS = {
    "抽取类问答": ("extractive", "Extractive QA"),
    "多跳推理类问答": ("multi_hop", "Multi-hop reasoning"),
    "对比类问答": ("contrast", "Contrast"),
    "长答案形式问答": ("long_form", "Long-form QA"),
    "多轮对话能力": ("conversational", "Multi-turn conversation"),
}

_OLDER_TOPICS = {
    "移动支付": ("mobile_payment", "Mobile payment"),
    "责任保险": ("liability_insurance", "Liability insurance"),
    "客户知识产权(KYC)": ("know_your_customer", "Know your customer (KYC)"),
}
_OLDER_TASKS = {"结构化知识问答": ("structured_knowledge", "Structured-knowledge QA")}
"""Topics and a task of earlier releases of OmniEval, which its evaluation leaves out."""

TOPIC_LABELS: dict[str, str] = dict(_TOPICS.values())
"""The 16 topics of OmniEval's evaluation: slug -> label."""

TASK_LABELS: dict[str, str] = dict(_TASKS.values())
"""The 5 tasks of OmniEval's evaluation: slug -> label."""

CRUD_LABELS: dict[str, str] = {
    "create": "Create",
    "create/continuation": "Continuation",
    "read": "Read",
    "read/qa_1doc": "QA, 1 document",
    "read/qa_2docs": "QA, 2 documents",
    "read/qa_3docs": "QA, 3 documents",
    "update": "Update",
    "update/hallucination": "Hallucination correction",
    "delete": "Delete",
    "delete/summarization": "Summarization",
}
"""The subsets of CRUD-RAG and their groups: path -> label."""

FINANCE_LABELS: dict[str, str] = {"finance": "Finance"}


def topic_slugs(paths: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return (slug, label) for every topic path (level 1 name, level 2 name) of a data set.

    They are made from the level 2 name, or from both names if several level 1 topics have that level 2 name.
    """
    distinct = set(paths)
    n_areas = Counter(name for _, name in distinct)
    slugs = {}
    for area, name in distinct:
        full_name = f"{area} - {name}"
        slugs[area, name] = slug_of_topic(name) if n_areas[name] == 1 else (make_slug(full_name), full_name)
    return slugs


def slug_of_topic(name: str) -> tuple[str, str]:
    """Return (slug, label) of a level 2 topic."""
    return (_TOPICS | _OLDER_TOPICS).get(plain_name(name)) or (make_slug(name), name)


def slug_of_task(name: str) -> tuple[str, str]:
    """Return (slug, label) of a task from the name of its file without extension."""
    return (_TASKS | _OLDER_TASKS).get(plain_name(name)) or (make_slug(name), name)


def name_problems(name: str) -> list[str]:
    """Return an error message for a data set name that is unsuitable for tables and MLflow."""
    if re.fullmatch(r"\w[\w.-]{0,59}", name):
        return []
    return [
        f"name: got {name!r}, expected at most 60 letters, digits, hyphens, dots and underscores, such as our_manuals"
    ]
