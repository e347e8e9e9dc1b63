"""Messages of protobuf: whole numbers as groups of seven bits."""

import numpy as np
import pytest

from treerank.exports.onnx_graph import message

EDGES = [0, 1, 126, 127, 128, 129, 255, 2**14 - 1, 2**14, 2**14 + 127, 2**31, 2**56 + 128]


def groups_of(number):
    """Return the bytes of a number, written out."""
    found = [number & 127]
    while number := number >> 7:
        found[-1] |= 128
        found.append(number & 127)
    return bytes(found)


@pytest.mark.parametrize("number", EDGES)
def test_a_number_is_its_groups_of_seven_bits(number):
    assert b"".join(message((1, number))) == b"\x08" + groups_of(number)


def test_numbers_of_all_sizes_stand_side_by_side():
    content = b"".join(map(groups_of, EDGES))
    head = b"\x0a" + groups_of(len(content))
    assert b"".join(message((1, np.array(EDGES)))) == head + content
