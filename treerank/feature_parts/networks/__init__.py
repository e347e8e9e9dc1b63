"""Networks and soft trees: feature parts that torch computes, and how they are trained."""
