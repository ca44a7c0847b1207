"""Examples from a training split, in an order that is drawn once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.clusters import clusters_of
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
    """Shows each sample the first `n` samples of `dataset`, in an order drawn by `seed`, that are of its kind and not
    of its cluster: none that asks the same (case, width and punctuation apart) after the same questions, shares a gold
    document with it, or is of its conversation. So most prompts show the same examples. Few-shot prompting: Brown et
    al. 2020, "Language Models are Few-Shot Learners", section 2.

    An example is its question with its gold evidence as passages, and its first reference as the answer. One without
    either, or with more than `max_tokens` tokens in all three, is passed over.
    """

    dataset: Dataset | None = runtime_only(None, "what it loads stands in the keys itself, wherever it is loaded from")
    n: int = 2
    max_tokens: int = 2048
    seed: int = 0
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 3 + ANSWER_FORM_VERSION

    def check(self) -> list[str]:
        """Numbers out of range, and no data set."""
        mistakes = too_small(self, n=0, max_tokens=1)
        return mistakes + ([] if self.dataset else ["dataset: got none, expected one that holds the examples"])

    def choose(self, samples: Sequence[Sample], pool: Sequence[Sample], documents: Documents) -> NDArray[np.int32]:
        """Their positions in the pool. Raises DataError if a sample has too few."""
        usable: dict[Kind, list[int]] = defaultdict(list)
        for place in self._usable(pool, documents):
            usable[pool[place].kind].append(place)
        clusters = clusters_of([*samples, *pool]).tolist()
        asked = [_asked(sample) for sample in pool]
        chosen = np.zeros((len(samples), self.n), dtype=np.int32)
        for row, sample in enumerate(samples):
            own_question = _asked(sample)
            others = (
                place
                for place in usable[sample.kind]
                if clusters[len(samples) + place] != clusters[row] and asked[place] != own_question
            )
            own = [place for place, _ in zip(others, range(self.n), strict=False)]
            if len(own) < self.n:
                raise DataError(
                    f"examples: {len(own)} of {len(pool)} samples of the examples' data set will do for sample "
                    f"{sample.id!r}, expected examples.n={self.n}: of its kind ({sample.kind.value}), with a reference "
                    f"and gold in the corpus, of at most examples.max_tokens={self.max_tokens} tokens, not of its "
                    "cluster; take fewer, longer ones, or another split"
                )
            chosen[row] = own
        return chosen

    def _usable(self, pool: Sequence[Sample], documents: Documents) -> list[int]:
        """In the order drawn."""
        position = {document_id: place for place, document_id in enumerate(documents.ids)}
        passages = [gold_passages(sample, documents, position) for sample in pool]
        drawn = np.random.default_rng(self.seed).permutation(len(pool)).tolist()
        places = [place for place in drawn if pool[place].references and passages[place]]
        texts = [
            "\n".join([pool[place].question, pool[place].references[0], *(p.text for p in passages[place])])
            for place in places
        ]
        ends = self.tokenizer.token_ends(texts)
        return [place for place, own in zip(places, ends, strict=True) if len(own) <= self.max_tokens]


def _asked(sample: Sample) -> tuple[str, ...]:
    """What is asked in a sample: a follow-up means another thing after other questions."""
    return tuple(answer_form(question) for question in (*(turn.question for turn in sample.history), sample.question))
