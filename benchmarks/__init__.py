"""Benchmarks: ``python -m benchmarks QUESTION`` measures, ``python -m benchmarks page`` draws."""
