"""People's labels of answers: reading them, comparing a judge with them, training a judge on them."""
