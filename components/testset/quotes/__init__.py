"""Location of a writer's evidence in documents, from sentence numbers and quoted words."""

from components.testset.quotes.locating import locate
from components.testset.quotes.numbered_sentences import ShownSentence, numbered_sentences

__all__ = ["ShownSentence", "locate", "numbered_sentences"]
