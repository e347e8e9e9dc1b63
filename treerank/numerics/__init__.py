"""Numerics: compiling, threads, random numbers by key, and blocks of ties."""
