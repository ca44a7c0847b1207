"""Text processing that all roles share: normal forms, sentences, tables of terms, rankings."""
