"""Objectives: from the scores of all documents to one number and its derivatives."""
