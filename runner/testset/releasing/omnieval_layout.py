"""A set in the folders and fields of OmniEval, for tools that read these. Samples that would lose content are left out.

    corpus/nodes_dir/<set>_nodes/corpus.jsonl                  {"id", "title", "contents"}
    gen_datas_<set>_final/<topic>/<subtopic>/<task>.jsonl      one item a line; a conversation is a list of its turns

Source: Wang et al. 2024, "OmniEval", and its code (RUC-NLPIR/OmniEval).
"""

from collections import defaultdict
from collections.abc import Sequence

from components.datasets.omnieval_gold import locate_gold
from components.json_value import Json
from components.records import Sample
from components.testset.records import Topic
from components.testset.topics.tree import label_topics
from runner.results.released_set import Testset
from runner.results.set_lines import encode_line

FOLDER = "omnieval"
_CORPUS = f"{FOLDER}/corpus/nodes_dir/set_nodes/corpus.jsonl"
_ITEMS = f"{FOLDER}/gen_datas_set_final"
_TASKS = {
    "extractive": "抽取类问答",
    "multi_hop": "多跳推理类问答",
    "contrast": "对比类问答",
    "long_form": "长答案形式问答",
    "conversational": "多轮对话能力",
}
_KEPT = 2
"""Grade of OmniEval's inspection for an item that stays as it is."""


def omnieval_files(testset: Testset, topics: Sequence[Topic]) -> tuple[dict[str, bytes], int]:
    """Return files by path, and the number of samples that are left out. No files if none remains.

    These are samples of other tasks, samples whose passages would be located elsewhere than their gold, and
    conversations that lost a turn.
    """
    paths = {topic.slug: topic.path for topic in topics}
    names = {label: paths[slug] for slug, label in label_topics(topics).items()}
    items: dict[str, list[Json]] = defaultdict(list)
    n_left_out = 0
    for turns in _conversations(testset):
        task = _TASKS.get(turns[0].task or "")
        path = names.get(turns[0].topic or "", (turns[0].topic or "all",))
        if task and all(_is_kept_whole(sample, testset) for sample in turns) and _is_complete(turns):
            records = [_item(sample, path, task, testset) for sample in turns]
            file_path = "/".join(map(_file_name, (path[-2] if len(path) > 1 else path[-1], path[-1], task)))
            items[f"{_ITEMS}/{file_path}.jsonl"].append(records if turns[0].task == "conversational" else records[0])
        else:
            n_left_out += len(turns)
    if not items:
        return {}, n_left_out
    files = {name: b"".join(map(encode_line, entries)) for name, entries in items.items()}
    documents = zip(testset.documents.ids, testset.documents.titles, testset.documents.texts, strict=True)
    nodes = ({"id": own_id, "title": title, "contents": text} for own_id, title, text in documents)
    return {_CORPUS: b"".join(map(encode_line, nodes)), **files}, n_left_out


def _conversations(testset: Testset) -> list[list[Sample]]:
    """Return the turns of each conversation in order. Any other sample is a list by itself."""
    by_conversation: dict[str, list[Sample]] = defaultdict(list)
    for sample in testset.samples:
        by_conversation[str(testset.provenance[sample.id].get("conversation") or sample.id)].append(sample)
    return [sorted(turns, key=lambda sample: len(sample.history)) for turns in by_conversation.values()]


def _is_complete(turns: Sequence[Sample]) -> bool:
    """Return True if the history of each turn consists of the turns before it."""
    return [len(sample.history) for sample in turns] == list(range(len(turns)))


def _is_kept_whole(sample: Sample, testset: Testset) -> bool:
    passages = _passages(sample, testset)
    gold = locate_gold(_nodes(sample), passages, testset.texts)
    return bool(sample.references) and set(gold.units) == set(sample.gold) and not gold.n_passages_not_found


def _nodes(sample: Sample) -> list[str]:
    return list(dict.fromkeys(unit.document_id for unit in sample.gold))


def _passages(sample: Sample, testset: Testset) -> list[str]:
    return [testset.texts[unit.document_id][unit.start : unit.end] for unit in sample.gold]


def _item(sample: Sample, path: Sequence[str], task: str, testset: Testset) -> dict[str, Json]:
    return {
        "question": sample.question,
        "answer": list(sample.references),
        "relevant_passage": _passages(sample, testset),
        "topic_name": " - ".join(path),
        "task_name": task,
        "relevant_node": _nodes(sample),
        "evaluation": _KEPT,
    }


def _file_name(name: str) -> str:
    """Return a name that is one part of a path on any system."""
    safe = "".join("_" if character in '<>:"/\\|?*' or ord(character) < 32 else character for character in name)
    return safe.strip(" .") or "_"
