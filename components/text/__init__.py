"""Text shared by all roles: normal forms, words, sentences, tokens, tables of terms."""
