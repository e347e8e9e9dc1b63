"""treerank: learning to rank by comparing two documents at a time."""
