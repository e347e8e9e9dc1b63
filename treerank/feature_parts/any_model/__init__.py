"""Any model: feature parts over models of other libraries."""
