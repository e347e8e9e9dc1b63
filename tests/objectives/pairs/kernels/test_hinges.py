import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treerank.objectives.pairs.kernels.hinges import add_moments, moments_below

documents = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.integers(-9, 9)), max_size=40
)


@given(documents=documents)
def test_moments_are_those_of_all_documents_at_lower_levels(documents):
    trees = np.zeros((10, 3))
    for level, w, x in documents:
        add_moments(trees, level, float(w), float(x))
    for level in range(-1, 10):
        below = [(w, x) for other, w, x in documents if other < level]
        expected = tuple(sum(w * x**power for w, x in below) for power in range(3))
        assert moments_below(trees, level) == expected
