"""Data sets: files and folders of ranking data, transforms, and generators of synthetic data."""
