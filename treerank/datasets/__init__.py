"""Data sets: files and folders of ranking data, and a generator of synthetic data."""
