"""The four scores of RAGQuestEval, computed from two lists of answers.

Source: Lyu et al. 2024, "CRUD-RAG", section 3.6, equations 1 and 2.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from components.judges.unknown_answers import Phrases
from components.protocols import Tokenizer
from components.records import ScoreState
from components.tokenizers.jieba_words import JiebaWords

NAMES = (
    "quest_eval_precision",
    "quest_eval_recall",
    "quest_eval_precision_crud_compat",
    "quest_eval_recall_crud_compat",
)


def quest_scores(
    answers_reference: Sequence[str], answers_generated: Sequence[str], phrases: Phrases, tokenizer: Tokenizer
) -> dict[str, float | ScoreState]:
    """Return the scores of one sample by NAMES, from the answers that the reference and the generated text give.

    Both lists follow the order of the questions. Recall is the share of questions that the generated text answers,
    among the questions that the reference answers. Precision is the mean token F1 of the answers to these questions.

    - Plain: `phrases` are recognized after normalization, even among words about the text. Tokens are the `tokenizer`'s
      without whitespace. An empty mean is NOT_APPLICABLE.
    - Compat, as published: the first phrase must match exactly. Tokens are jieba's with whitespace. An empty mean
      is 0.

    If the lists are empty or differ in length, all four are NOT_APPLICABLE (the published code gives 0).
    """
    if len(answers_reference) != len(answers_generated) or not answers_reference:
        return dict.fromkeys(NAMES, ScoreState.NOT_APPLICABLE)
    pairs = list(zip(answers_reference, answers_generated, strict=True))
    precision, recall = _means(pairs, phrases.is_unknown_answer, lambda pair: _token_f1(_words(pair, tokenizer)))
    compat = _means(pairs, phrases.is_first_phrase, lambda pair: _token_f1(JiebaWords().tokenize(pair)))
    scores = (
        ScoreState.NOT_APPLICABLE if precision is None else precision,
        ScoreState.NOT_APPLICABLE if recall is None else recall,
        *(mean or 0.0 for mean in compat),
    )
    return dict(zip(NAMES, scores, strict=True))


def _means(
    pairs: Sequence[tuple[str, str]],
    is_unknown: Callable[[str], bool],
    similarity: Callable[[tuple[str, str]], float],
) -> tuple[float | None, float | None]:
    """Return precision and recall over pairs of (reference answer, generated answer); None for an empty mean."""
    answerable = [pair for pair in pairs if not is_unknown(pair[0])]
    f1s = [similarity(pair) for pair in answerable if not is_unknown(pair[1])]
    precision = sum(f1s) / len(f1s) if f1s else None
    return precision, len(f1s) / len(answerable) if answerable else None


def _words(texts: Sequence[str], tokenizer: Tokenizer) -> list[list[str]]:
    return [[token for token in tokens if not token.isspace()] for tokens in tokenizer.tokenize(texts)]


def _token_f1(tokens: Sequence[Sequence[str]]) -> float:
    """Return F1 of two multisets of tokens; 1 if both are empty."""
    reference, generated = map(Counter, tokens)
    n_tokens = reference.total() + generated.total()
    return 2 * (reference & generated).total() / n_tokens if n_tokens else 1.0
