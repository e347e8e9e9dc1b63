"""SortNet: a neural comparator and a sorting algorithm."""
