"""The answers: context, examples, prompts and the language model."""
