"""LETOR files that are read some bytes at a time."""

from unittest.mock import patch

from treerank.datasets import letor, letor_table


def read_in_blocks(path, block_size, chunk_size=2**18, **options):
    """Read a LETOR file in blocks of other sizes than usual."""
    with (
        patch.object(letor, "BLOCK_SIZE", block_size),
        patch.object(letor_table, "CHUNK_SIZE", chunk_size),
    ):
        return letor.read_letor(path, **options)
