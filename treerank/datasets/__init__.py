"""Data: LETOR files, folds, and generators of synthetic queries."""
