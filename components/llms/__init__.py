"""Language models, and what stands in for them: a request in, an answer out."""
