"""Terms: what the score of a ranker is a sum of, in neutral form."""
