"""Histogram trees: boosting of our own, one noun per room; the part is in ``trees``."""
