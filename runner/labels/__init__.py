"""Human labels of answers: reads them, compares a judge with them, and trains a judge on them."""
