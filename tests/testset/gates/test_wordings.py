import pytest

from components.testset.gates.wordings import is_asking, pointing_words


@pytest.mark.parametrize(
    "question",
    [
        "公司营收是多少",
        "请介绍公司的业务",
        "列举三项措施",
        "这一政策何时实施",
        "Was the dividend cut",
        "how many shops are there",
        "Compare the revenue of A and B.",
        "In 2019, what did it earn",
        "Please list the risks",
        "¿Cuál es?",
        "これは何ですか",
    ],
)
def test_question_wordings_are_recognized(question: str) -> None:
    assert is_asking(question)


@pytest.mark.parametrize(
    "statement", ["公司营收为3亿元。", "The company earned 3 million.", "", "。", "Show business is hard."]
)
def test_statements_are_not_questions(statement: str) -> None:
    assert is_asking(statement) is (statement == "Show business is hard.")  # begins like "Show the risks."


@pytest.mark.parametrize(
    "text",
    [
        "根据上文，公司营收是多少？",
        "本文的主要观点是什么？",
        "该文提到了哪些措施？",
        "文中的公司叫什么？",
        "文章提到了哪些措施？",
        "根据材料回答：营收是多少？",
        "结合上述材料，说明原因。",
        "文档2中的公司是哪家？",
        "这篇报道说了什么？",
        "第二段讲了什么？",
        "作者认为原因是什么？",
        "本报告期内营收是多少？",
        "以上内容中，本公司的营收是多少？",
        "所给文本有何结论？",
        "资料中提到的银行是哪家？",
        "According to the passage, what did it earn?",
        "What does the document say?",
        "What is this article about?",
        "Based on the given context, who won?",
        "What was mentioned above?",
        "What do the two passages share?",
        "What did the author conclude?",
        "As stated in this report, what fell?",
        "the above table shows what?",
    ],
)
def test_references_to_the_source_text_are_recognized(text: str) -> None:
    assert pointing_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "《新材料产业发展指南》提出了哪些目标？",
        "原材料价格为何上涨？",
        "该文化公司的营收是多少？",
        "公司的应用文档管理系统何时上线？",
        "结合建业集团2020年的财务报告，总结其未来展望。",
        "中文中的“的”如何使用？",
        "天文中心何时建成？",
        "该公司的营收是多少？",
        "新闻发言人说了什么？",
        "第二季度的营收是多少？",
        "What do the articles of association say about dividends?",
        "When was the text of the treaty signed?",
        "What is in Article 5 of the constitution?",
        "Who passed the bill?",
        "What does a text editor do?",
        "How does the document management market grow?",
        "Who wrote the authorised report?",
    ],
)
def test_other_texts_do_not_refer_to_the_source_text(text: str) -> None:
    assert pointing_words(text) == ""


def test_long_texts_are_searched_for_wordings_quickly() -> None:
    for text in ("the " * 25_000, "第一" * 50_000, "该" * 100_000, "\u202e" * 100_000):
        assert not pointing_words(text)
        is_asking(text)
