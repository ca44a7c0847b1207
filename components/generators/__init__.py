"""Turn a sample and its passages into an answer, by one request to a language model or several."""
