"""Neural rankers: a multilayer perceptron fitted to an objective."""
