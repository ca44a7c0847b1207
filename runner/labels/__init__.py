"""People's labels of answers: read, held against a judge's grades, and asked of the judge."""
