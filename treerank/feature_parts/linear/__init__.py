"""A line as a feature part, and the convex fit of linear weights; no torch needed."""
