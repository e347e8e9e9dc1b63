"""The laws of ranking over models of other libraries, whatever they are.

To add a model, add a feature part to ``MODELS``. A law that it cannot keep stands in
``EXCEPTIONS`` with the reason, and the guide says so, too.
"""

import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
from laws import LAWS, Case
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    RandomTreesEmbedding,
    StackingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from small_rankers import DATA

from treerank import Ensemble, LightGBMTrees, TreeDirectRanker, load
from treerank.feature_parts import NewtonBoosting, Stages

torch = pytest.importorskip("torch")
from treerank.feature_parts import TorchModule  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),
]


def network(n_features):
    hidden = [torch.nn.Linear(n_features, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU()]
    return torch.nn.Sequential(*hidden, torch.nn.Linear(4, 1))


def with_dropout(n_features):
    layers = [torch.nn.Linear(n_features, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(4, 1))


def several_outputs(n_features):
    return torch.nn.Sequential(torch.nn.Linear(n_features, 3), torch.nn.Tanh())


class Named:
    """Objects whose text does not tell where they are in memory, by which a law compares them."""

    def __repr__(self):
        return f"{type(self).__name__}()"


class Descent(Named):
    """What the guide asks of any class, and nothing else."""

    def fit(self, X, objective, validation=None):
        self.weight = np.zeros(X.shape[1])
        for iteration in range(5):
            gradient, _ = objective.derivatives(self.score(X), iteration=iteration)
            self.weight = self.weight - 0.01 * (X * gradient[:, None]).sum(axis=0) / len(X)

    def transform(self, X):
        return self.score(X)

    def score(self, X):
        return (np.ascontiguousarray(X, dtype=np.float64) * self.weight).sum(axis=1)


class Outputs(Descent):
    """Several outputs, which the head weighs."""

    def transform(self, X):
        score = self.score(X)
        return np.column_stack([score, np.maximum(score, 0), X[:, 4] > 1])


class TextEncoder(Named):
    """A table of embeddings, trained by a loop of its own on ``objective.derivatives``."""

    def fit(self, X, objective, validation=None):
        generator = torch.Generator().manual_seed(0)
        table = torch.empty(4, 2).uniform_(-1, 1, generator=generator).requires_grad_()
        optimizer = torch.optim.SGD([table], lr=0.1)
        words = torch.from_numpy(np.array(X[:, 4], dtype=np.int64))
        for epoch in range(3):
            scores = table[words].prod(dim=1)
            given = scores.detach().double().numpy()
            gradient, _ = objective.derivatives(given, iteration=epoch)
            optimizer.zero_grad()
            scores.backward(torch.from_numpy(gradient).float() / len(X))
            optimizer.step()
        self.scores = table.prod(dim=1).detach().double().numpy()

    def transform(self, X):
        return self.scores[np.array(X[:, 4], dtype=np.int64)]


def boosted(regressor, n_estimators=2):
    return NewtonBoosting(regressor, n_estimators=n_estimators)


TREES = LightGBMTrees(n_estimators=3, min_child_samples=5, n_jobs=1)
REGRESSORS = {
    "ridge": boosted(Ridge()),
    "tree": boosted(DecisionTreeRegressor(max_depth=3)),
    "forest": boosted(RandomForestRegressor(3, max_depth=3)),
    "extra trees": boosted(ExtraTreesRegressor(3, max_depth=3)),
    "boosted trees": boosted(HistGradientBoostingRegressor(max_iter=2)),
    "kernel ridge": boosted(make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))),
    "neighbors": boosted(make_pipeline(StandardScaler(), KNeighborsRegressor(9))),
    "splines": boosted(make_pipeline(SplineTransformer(), Ridge())),
    "support vectors": boosted(SVR()),
    "stacked": boosted(
        StackingRegressor(
            [("tree", DecisionTreeRegressor(max_depth=2))],
            DecisionTreeRegressor(max_depth=2),
            passthrough=True,
        )
    ),
    "process": boosted(GaussianProcessRegressor(alpha=1.0, optimizer=None)),
}
TRANSFORMERS = {
    "kernel map": make_pipeline(StandardScaler(), Nystroem(n_components=10)),
    "spline basis": SplineTransformer(n_knots=3),
    "leaves": RandomTreesEmbedding(3, max_depth=3),
    "components": PCA(2),
    "clusters": KMeans(3, n_init=1),
}
SAVED = {
    "network": TorchModule(network, n_epochs=1),
    "dropout": TorchModule(with_dropout, n_epochs=1),
    "several outputs": TorchModule(several_outputs, n_epochs=1),
}
CLASSES = {"class": Descent(), "outputs": Outputs(), "text encoder": TextEncoder()}
COMPOSITES = {
    "ensemble": Ensemble([boosted(Ridge()), TREES], n_bags=2),
    "ensemble of a map": Ensemble([PCA(2), Descent()], n_bags=2),
    "stages": Stages([boosted(DecisionTreeRegressor(max_depth=3)), TREES]),
}
MODELS = REGRESSORS | TRANSFORMERS | SAVED | CLASSES | COMPOSITES
#: Models whose last bits depend on the number of threads, and why.
BY_THREADS = {
    "the last bits of products of matrices depend on the number of threads": (
        *("ridge", "kernel ridge", "neighbors", "splines", "process", "kernel map", "components"),
        *("clusters", "ensemble", "ensemble of a map"),
    ),
    "with n_jobs > 1, predictions are added in the order in which threads end": (
        *("forest", "extra trees"),
    ),
}
#: Laws that a model does not keep, and why.
EXCEPTIONS = {name: {"threads": why} for why, names in BY_THREADS.items() for name in names}
#: Their law is that of a file, in which objects of other libraries have no place.
FILES = {"copies"}


@cache
def case_of(name):
    return Case(TreeDirectRanker(MODELS[name], weight="ndcg", smoothing=1.0), DATA)


@pytest.mark.parametrize("law", [law for law in LAWS if law not in FILES])
@pytest.mark.parametrize("name", MODELS)
def test_any_model_keeps_the_laws(name, law):
    if law in EXCEPTIONS.get(name, {}):
        pytest.skip(EXCEPTIONS[name][law])
    LAWS[law](case_of(name))


@pytest.mark.parametrize("name", MODELS)
def test_the_head_is_reflexive_antisymmetric_and_transitive(name):
    X = DATA.X[:25]
    first, second = np.divmod(np.arange(625), 25)
    r = case_of(name).fitted.compare(X[first], X[second]).reshape(25, 25)
    assert (np.diag(r) == 0).all()
    assert (r == -r.T).all()
    above = r >= 0
    for a, b, c in product(range(25), repeat=3):
        assert above[a, c] or not (above[a, b] and above[b, c])
    assert len(np.unique(r)) > 2  # it has learned


@pytest.mark.parametrize("name", MODELS)
def test_a_pickled_model_gives_the_same_scores_and_a_saved_one_does_or_is_refused(name, tmp_path):
    ranker, X = case_of(name).fitted, DATA.X
    copy = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(copy.predict(X), ranker.predict(X))
    if name in SAVED:
        ranker.save(tmp_path / "model")
        loaded = load(tmp_path / "model", build=ranker.feature_part.build)
        np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    else:
        with pytest.raises(TypeError, match=r"feature_part must .* to be saved"):
            ranker.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()
