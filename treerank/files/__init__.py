"""Files: archives for models, files that are replaced at once, blocks of text, compression."""
