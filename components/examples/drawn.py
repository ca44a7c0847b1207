"""Examples from a training split, in an order drawn once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.clusters import number_clusters
from components.errors import DataError
from components.examples.solved import gold_passages
from components.fields import runtime_only
from components.limits import too_small
from components.protocols import Dataset, Tokenizer
from components.records import Documents, Kind, Sample
from components.text.normalize import ANSWER_FORM_VERSION, answer_form
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class DrawnExamples:
    """Shows each sample the first `n` suitable samples of `dataset`, in an order drawn by `seed`.

    An example must be of the sample's kind and outside its cluster: it does not share a gold document or a conversation
    with the sample. It must not repeat the question and the earlier ones, ignoring case, width and punctuation. Most
    prompts therefore show the same examples. Few-shot prompting: Brown et al. 2020, "Language Models are Few-Shot
    Learners", section 2.

    An example consists of its question, its gold evidence as passages, and its first reference as the answer. Samples
    without gold or reference, or with more than `max_tokens` tokens in total, are skipped.
    """

    dataset: Dataset | None = runtime_only(None, "the keys contain the loaded data itself, wherever it is loaded from")
    n: int = 2
    max_tokens: int = 2048
    seed: int = 0
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 3 + ANSWER_FORM_VERSION

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, or without a data set."""
        problems = too_small(self, n=0, max_tokens=1)
        return problems + ([] if self.dataset else ["dataset: got none, expected a data set with the examples"])

    def choose(self, samples: Sequence[Sample], pool: Sequence[Sample], documents: Documents) -> NDArray[np.int32]:
        """Return the positions of the chosen examples in the pool.

        Raises DataError if the pool has too few for a sample.
        """
        usable: dict[Kind, list[int]] = defaultdict(list)
        for position in self._find_usable(pool, documents):
            usable[pool[position].kind].append(position)
        clusters = number_clusters([*samples, *pool]).tolist()
        questions = [_questions(sample) for sample in pool]
        chosen = np.zeros((len(samples), self.n), dtype=np.int32)
        for row, sample in enumerate(samples):
            own_question = _questions(sample)
            eligible = (
                position
                for position in usable[sample.kind]
                if clusters[len(samples) + position] != clusters[row] and questions[position] != own_question
            )
            picked = [position for position, _ in zip(eligible, range(self.n), strict=False)]
            if len(picked) < self.n:
                raise DataError(
                    f"examples: found {len(picked)} examples for sample {sample.id!r} among {len(pool)} samples of the "
                    f"examples' data set, expected examples.n={self.n} of the same kind ({sample.kind.value}), each "
                    "with a reference and gold in the corpus, independent of this sample, and with at most "
                    f"examples.max_tokens={self.max_tokens} tokens. Lower n, raise max_tokens, or use another split."
                )
            chosen[row] = picked
        return chosen

    def _find_usable(self, pool: Sequence[Sample], documents: Documents) -> list[int]:
        """Return the positions of usable examples, in the order drawn."""
        position = {document_id: index for index, document_id in enumerate(documents.ids)}
        passages = [gold_passages(sample, documents, position) for sample in pool]
        shuffled = np.random.default_rng(self.seed).permutation(len(pool)).tolist()
        indices = [index for index in shuffled if pool[index].references and passages[index]]
        texts = [
            "\n".join([pool[index].question, pool[index].references[0], *(p.text for p in passages[index])])
            for index in indices
        ]
        ends = self.tokenizer.token_ends(texts)
        return [index for index, text_ends in zip(indices, ends, strict=True) if len(text_ends) <= self.max_tokens]


def _questions(sample: Sample) -> tuple[str, ...]:
    """Return all questions of a sample: a follow-up means something else after other questions."""
    return tuple(answer_form(question) for question in (*(turn.question for turn in sample.history), sample.question))
