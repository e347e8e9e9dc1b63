"""Baselines: the rankers of the literature, most of them a feature part and an objective."""
