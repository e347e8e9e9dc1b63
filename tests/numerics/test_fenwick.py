import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treerank.numerics.fenwick import add, sum_below

amounts_by_level = st.lists(st.tuples(st.integers(0, 8), st.integers(-9, 9)), max_size=40)


@given(amounts=amounts_by_level)
def test_sums_are_those_of_all_amounts_at_lower_levels(amounts):
    tree = np.zeros(10)
    for level, amount in amounts:
        add(tree, level, float(amount))
    for level in range(-1, 10):
        assert sum_below(tree, level) == sum(a for other, a in amounts if other < level)
