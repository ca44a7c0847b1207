"""Instructions for annotators, in English and Chinese."""

from collections.abc import Mapping
from dataclasses import dataclass

from runner.testset.annotating.annotation_choices import Language
from runner.testset.annotating.annotations import AnnotatorCheck


@dataclass(frozen=True)
class AnnotatorWording:
    """Titles of the parts of a task, the five checks as questions, and how to answer them."""

    about: str
    history: str
    question: str
    references: str
    passages: str
    gold: str
    checks: Mapping[AnnotatorCheck, str]
    yes: str
    no: str
    topic: str
    rating: str


WORDINGS = {
    Language.EN: AnnotatorWording(
        about="Requested task and topic",
        history="Earlier turns of the conversation",
        question="Question (correct it if necessary)",
        references="Answers, one per entry: correct, add or remove",
        passages="Documents: passages that answer the question are marked. Correct incomplete or overlong marks.",
        gold="answers the question",
        checks={
            AnnotatorCheck.TASK: "Is it the kind of question that the task requests?",
            AnnotatorCheck.TOPIC: "Is it about the topic?",
            AnnotatorCheck.QUESTION: "Can it be understood on its own (or after the earlier turns)?",
            AnnotatorCheck.ANSWER: "Is the answer correct and complete?",
            AnnotatorCheck.EVIDENCE: "Do the marks contain all evidence for the answer, and nothing wrong?",
        },
        yes="Yes",
        no="No",
        topic="Topic (choose another one if it fits better)",
        rating="The original sample: 5 very good, 4 good, 3 has errors that can be corrected, 2 poor, 1 useless",
    ),
    Language.ZH: AnnotatorWording(
        about="出题要求（任务／主题）",
        history="此前的对话",
        question="问题：如有不妥请直接修改",
        references="答案，每条一个：可修改、添加或删除",
        passages="文档：能回答问题的段落已标出；请调整标注，使其完整且不多余",
        gold="回答依据",
        checks={
            AnnotatorCheck.TASK: "这个问题属于该任务所要的题型吗？",
            AnnotatorCheck.TOPIC: "问题与主题有关吗？",
            AnnotatorCheck.QUESTION: "单看这个问题（或结合此前的对话）能看懂吗？",
            AnnotatorCheck.ANSWER: "答案正确、没有遗漏吗？",
            AnnotatorCheck.EVIDENCE: "标出的段落涵盖了答案的全部依据，且没有标错吗？",
        },
        yes="是",
        no="否",
        topic="主题：如另一个更合适请改选",
        rating="对原样本的总评：5 很好，4 好，3 有缺陷但可以改好，2 较差，1 不可用",
    ),
}

YES = frozenset({"yes", "y", "true", "1", *(wording.yes.lower() for wording in WORDINGS.values())})
NO = frozenset({"no", "n", "false", "0", *(wording.no.lower() for wording in WORDINGS.values())})
