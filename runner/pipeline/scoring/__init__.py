"""Stages of the scores: metrics of rankings, contexts and answers, by sample and by subset."""
