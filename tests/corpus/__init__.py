"""A corpus of ranking: cases as plain text, and the programs that are checked with it."""
