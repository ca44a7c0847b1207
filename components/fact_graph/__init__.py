"""A graph of the entities in a corpus: facts that a language model reads, their form, and the search over them."""
