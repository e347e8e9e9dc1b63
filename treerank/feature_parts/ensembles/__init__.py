"""Several feature parts as one."""
