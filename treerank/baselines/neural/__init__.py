"""Neural rankers: a multilayer perceptron fitted to an objective, or SortNet's comparator."""
