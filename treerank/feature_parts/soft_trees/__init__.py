"""Soft trees: trees whose splits are hyperplanes learned by gradient, as a layer and a part."""
