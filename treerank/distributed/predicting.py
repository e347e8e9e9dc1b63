"""Prediction by partitions: a function that scores the documents of one partition at a time."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank.inputs.documents import feature_names_of
from treerank.parameters import check_arguments
from treerank.rankers.ranker import Ranker


class Predictor:
    """A function from data frames to data frames with a column of scores.

    It can be sent to other processes, and does not need query ids: a score depends on its document
    alone. Columns that are no features are kept, in any order.

    Parameters
    ----------
    ranker : Ranker
        Fitted to columns with names.
    column : str, default="score"
        Name of the new column.

    Examples
    --------
    With Dask, the model is sent to each worker once:

    >>> predict = client.scatter(Predictor(ranker), broadcast=True)  # doctest: +SKIP
    >>> frame.map_partitions(lambda part, f: f(part), predict)  # doctest: +SKIP

    >>> import pandas as pd
    >>> from treerank.baselines import PRank
    >>> frame = pd.DataFrame({"price": [1.0, 3.0], "clicks": [0, 1]})
    >>> ranker = PRank(random_state=0).fit(frame[["price"]], frame["clicks"])
    >>> list(Predictor(ranker)(frame).columns)
    ['price', 'clicks', 'score']
    """

    @check_arguments
    def __init__(self, ranker: Ranker, column: str = "score"):
        check_is_fitted(ranker)
        names = feature_names_of(ranker)
        if names is None:
            raise ValueError("ranker must be fitted to columns with names.")
        if column in names:
            raise ValueError(f"column must not be a feature; got {column!r}.")
        self.ranker, self.column, self.features = ranker, column, list(names)

    def __call__(self, frame: Any) -> Any:
        """Return a pandas data frame with the scores of its rows, maybe none."""
        missing = [name for name in self.features if name not in frame.columns]
        if missing:
            raise ValueError(f"X must have the columns of training; got none of {missing[:5]}.")
        scores = np.empty(0)
        if len(frame):
            scores = self.ranker.predict(frame[self.features])
        return frame.assign(**{self.column: scores})
