import numpy as np

from treerank.exports.onnx_graph import message

EDGES = [0, 1, 126, 127, 128, 129, 255, 2**14 - 1, 2**14, 2**14 + 127, 2**31, 2**56 + 128]


def groups_of(number):
    """Return the bytes of a number, written out."""
    found = [number & 127]
    while number := number >> 7:
        found[-1] |= 128
        found.append(number & 127)
    return bytes(found)


def test_numbers_are_their_groups_of_seven_bits_alone_and_side_by_side():
    alone = b"".join(b"\x08" + groups_of(number) for number in EDGES)
    assert b"".join(message(*[(1, number) for number in EDGES])) == alone
    beside = b"".join(map(groups_of, EDGES))
    found = b"".join(message((2, np.array(EDGES))))
    assert found == b"\x12" + groups_of(len(beside)) + beside
