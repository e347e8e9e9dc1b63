"""Linear rankers: the score of a document is a weighted sum of its features."""
