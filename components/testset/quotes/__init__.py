"""Where in documents the evidence of a writer is: the sentences as it was shown them, and the words that it quotes."""

from components.testset.quotes.locating import locate
from components.testset.quotes.shown import ShownSentence, numbered_sentences

__all__ = ["ShownSentence", "locate", "numbered_sentences"]
