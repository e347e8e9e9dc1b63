"""Modules of torch of the user's own, trained on an objective."""

import json
import pickle
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from treerank import (
    MLP,
    QueryKFold,
    TreeDirectRanker,
    checkpointing,
    compare,
    export,
    load,
    make_objective,
    report,
)
from treerank.feature_parts import Stages
from treerank.feature_parts.indicators import IndicatorColumns

torch = pytest.importorskip("torch")
from treerank.feature_parts import TorchModule  # noqa: E402

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(240, 3)), np.repeat(np.arange(24), 10)
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=240), [0.5, 1.5])
FAST = {"n_epochs": 4, "learning_rate": 0.01}


def build(n_features):
    hidden = torch.nn.Linear(n_features, 8)
    return torch.nn.Sequential(
        hidden, torch.nn.BatchNorm1d(8), torch.nn.GELU(), torch.nn.Linear(8, 1)
    )


def three_outputs(n_features):
    return torch.nn.Sequential(torch.nn.Linear(n_features, 3), torch.nn.Tanh())


class Residual(torch.nn.Module):
    """A class of modules may be given as it is."""

    def __init__(self, n_features):
        super().__init__()
        self.inner = torch.nn.Linear(n_features, n_features)
        self.last = torch.nn.Linear(n_features, 1)

    def forward(self, X):
        return self.last(X + torch.relu(self.inner(X)))


def lazy(n_features):
    return torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU(), torch.nn.LazyLinear(1))


BUILDS = {"batch norm": build, "outputs": three_outputs, "class": Residual, "lazy": lazy}
every_build = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)


def fitted(build=build, X=X, **settings):
    return TreeDirectRanker(TorchModule(build, **FAST | settings), random_state=0).fit(X, Y, QID)


@every_build
def test_any_module_ranks_and_its_outputs_are_counted(build):
    ranker = fitted(build, n_epochs=40)
    assert ranker.score(X, Y, QID) > 0.7
    assert ranker.transform(X).shape == (240, 3 if build is three_outputs else 1)
    assert ranker.feature_part_.n_outputs_ == len(ranker.head_.weight)
    a, b = X[:50], X[50:100]
    np.testing.assert_array_equal(ranker.compare(a, b), -ranker.compare(b, a))


@every_build
def test_a_file_holds_weights_and_no_code(build, tmp_path):
    ranker = fitted(build)
    path = tmp_path / "model"
    ranker.save(path)
    loaded = load(path, build=build)
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.feature_part.build is loaded.feature_part_.build is build
    np.testing.assert_array_equal(loaded.fit(X, Y, QID).predict(X), fitted(build).predict(X))
    with pytest.raises(ValueError, match=r"^build must be given .*: load\(path, build=\w+\)"):
        load(path)
    with zipfile.ZipFile(path) as archive:
        assert {name.rpartition(".")[2] for name in archive.namelist()} == {"json", "npy"}
        for name in archive.namelist():
            if name.endswith("npy"):
                with archive.open(name) as file:
                    np.lib.format.read_array(file, allow_pickle=False)
            else:
                assert json.loads(archive.read(name))


def test_another_module_than_the_saved_one_is_refused(tmp_path):
    fitted().save(tmp_path / "model")
    for other in (
        three_outputs,
        lambda n: torch.nn.Linear(n, 1),
        lambda n: build(n + 1),
        lambda: build(3),
        lambda n: "text",
        lambda n: {}["missing"],
    ):
        with pytest.raises(ValueError, match=r"^build must return the module that was saved; got"):
            load(tmp_path / "model", build=other)
    with pytest.raises(ValueError, match=r"^build must be a function of the number of features"):
        load(tmp_path / "model", build=3)


def test_several_modules_are_read_by_the_names_of_their_functions(tmp_path):
    parts = [TorchModule(build, **FAST) for build in (Residual, lazy, lazy)]
    ranker = TreeDirectRanker([parts[0], Stages(parts[1:])], random_state=0).fit(X, Y, QID)
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model", build={"Residual": Residual, "lazy": lazy})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert [part.build for part in loaded.feature_part_.parts[1].parts] == [lazy, lazy]
    message = r"^build must have a function for each name .*build={'Residual': Residual, 'lazy'"
    for given, shown in ((lazy, "function lazy"), ({"lazy": lazy}, r"\['lazy'\] alone")):
        with pytest.raises(ValueError, match=f"{message}: lazy}}\\); got .*{shown}"):
            load(tmp_path / "model", build=given)
    with pytest.raises(ValueError, match=r"^build must be a function of the number of features"):
        load(tmp_path / "model", build={"Residual": Residual, "lazy": 3})


def of_width(width):
    def build(n_features):
        return torch.nn.Sequential(torch.nn.Linear(n_features, width), torch.nn.Linear(width, 1))

    return build


def test_modules_of_functions_of_one_name_are_not_saved(tmp_path):
    parts = [TorchModule(of_width(width), **FAST) for width in (2, 3)]
    ranker = TreeDirectRanker(Stages(parts), random_state=0).fit(X, Y, QID)
    with pytest.raises(ValueError, match=r"^build of TorchModule must be functions of different"):
        ranker.save(tmp_path / "model")


def test_one_module_may_be_given_by_its_name(tmp_path):
    fitted().save(tmp_path / "model")
    assert load(tmp_path / "model", build={"build": build}).feature_part.build is build


class Derived(TorchModule):
    pass


class Wide(TorchModule):
    """A class that makes its module itself."""

    def __init__(self, *, n_epochs=4, random_state=None):
        super().__init__(build, n_epochs=n_epochs, random_state=random_state)


def test_a_class_derived_from_it_is_given_its_function_as_it_is(tmp_path):
    parts = [TorchModule(build, **FAST), Derived(lazy, **FAST), Wide()]
    ranker = TreeDirectRanker(Stages(parts), random_state=0).fit(X, Y, QID)
    ranker.save(tmp_path / "model")
    own = {"Derived": Derived, "Wide": Wide}
    builds = {"build": build, "lazy": lazy}
    for options in (
        {"build": builds, "parts": own},
        {"build": build, "parts": own | {"Derived": partial(Derived, build=lazy)}},
    ):
        loaded = load(tmp_path / "model", **options)
        np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    message = r"^build must have .*build={'build': build, 'lazy': lazy}\); got <function build"
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model", build=build, parts=own)
    with pytest.raises(ValueError, match=r"^build must be given .*: load\(path, build=\w+\)"):
        load(tmp_path / "model", parts=own)


class Reversed(Residual):
    """The same layers, in another order of computation."""

    def forward(self, X):
        return self.last(torch.relu(self.inner(torch.relu(X))))


def of(activation):
    def leaky(n_features):
        return torch.nn.Sequential(
            torch.nn.Linear(n_features, 4), activation(), torch.nn.Linear(4, 1)
        )

    return leaky


@pytest.mark.parametrize(
    ("saved", "given", "message"),
    [
        (of(torch.nn.ReLU), of(torch.nn.Tanh), "layers.*; got '1 Tanh' in place of '1 ReLU'"),
        (of(torch.nn.ReLU), of(lambda: torch.nn.LeakyReLU(0.5)), "got '1 LeakyReLU' in place of"),
        (of(torch.nn.LeakyReLU), of(lambda: torch.nn.LeakyReLU(0.5)), "same layers whose outputs"),
        (Residual, Reversed, "got 'Reversed' in place of 'Residual'"),
        (Residual, type("Residual", (Reversed,), {}), "the same layers whose outputs differ"),
    ],
)
def test_a_module_of_equal_shapes_that_computes_otherwise_is_refused(
    saved, given, message, tmp_path
):
    ranker = fitted(saved)
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model", build=saved).predict(X), ranker.predict(X)
    )
    with pytest.raises(ValueError, match=f"^build must return .*{message}"):
        load(tmp_path / "model", build=given)


def test_it_is_trained_as_our_own_networks_are():
    """The same layers, drawn alike, give the same scores as an MLP, bit for bit."""
    own = MLP((8,), start="glorot", random_state=3, **FAST)

    class Drawn(TorchModule):
        def _make_network(self, n_features, n_outputs, X_sample, generator):
            super()._make_network(n_features, n_outputs, X_sample, generator)
            return own._make_network(n_features, n_outputs, X_sample, generator)

    def mlp(n_features):
        return torch.nn.Sequential(torch.nn.Linear(n_features, 8), torch.nn.Linear(8, 1))

    objective = make_objective(Y, QID)
    found = Drawn(mlp, random_state=3, **FAST).fit(X, objective).transform(X)
    np.testing.assert_array_equal(found, own.fit(X, objective).transform(X))


def test_a_validation_set_keeps_the_best_epoch():
    part = TorchModule(build, n_epochs=12, learning_rate=0.05)
    ranker = TreeDirectRanker(part, random_state=0).fit(X, Y, QID, eval_set=0.3)
    curve = ranker.evals_result_["validation"]["ndcg@10"]
    assert ranker.best_iteration_ == 1 + int(np.argmax(curve))


def test_the_seed_decides_and_torch_s_own_does_not():
    torch.manual_seed(1)
    first = fitted().predict(X)
    torch.manual_seed(2)
    np.testing.assert_array_equal(first, fitted().predict(X))
    assert (first != fitted(random_state=1).predict(X)).any()


def test_a_module_that_build_keeps_is_not_trained_itself():
    kept = build(3)
    before = {name: value.clone() for name, value in kept.state_dict().items()}
    fitted(lambda n_features: kept)
    assert all((kept.state_dict()[name] == value).all() for name, value in before.items())


def test_frozen_weights_stay():
    def half_frozen(n_features):
        module = build(n_features)
        module[0].requires_grad_(False)
        return module

    before, after = (fitted(half_frozen, n_epochs=n).feature_part_.network_[0] for n in (1, 5))
    assert (before.weight == after.weight).all()


def test_frames_gaps_weights_several_labels_and_composites():
    frame = pd.DataFrame(X, columns=[*"abc"]).mask(X > 1.5)
    labels = {"grade": np.where(QID < 3, np.nan, Y), "first": X[:, 0] > 0}
    part = TorchModule(build, **FAST)
    for each in (part, [part, "linear"], Stages([part, "linear"])):
        ranker = TreeDirectRanker(each, random_state=0)
        ranker.fit(frame, labels, QID, sample_weight=1.0 + (QID > 9))
        np.testing.assert_array_equal(ranker.predict(frame[[*"cab"]]), ranker.predict(frame))


def test_categories_are_columns_of_zeros_and_ones(tmp_path):
    shop = np.array(["b", "a", "c"])[np.arange(240) % 3]
    frame = pd.DataFrame({"price": X[:, 0], "shop": shop, "age": X[:, 1]})
    ranker = TreeDirectRanker(TorchModule(build, **FAST), smoothing=0.0, random_state=0)
    ranker.fit(frame, Y, QID)
    assert ranker.feature_part_.network_[0].in_features == 5
    numbers = np.column_stack([X[:, 0], X[:, 1], *(shop == name for name in "abc")])
    part = ranker.feature_part_
    matrix = np.column_stack([X[:, 0], np.searchsorted([*"abc"], shop), X[:, 1]])
    inner = TorchModule(build, **FAST)
    inner.__dict__.update(vars(part))
    inner.n_features_in_, inner._columns = 5, IndicatorColumns({})
    np.testing.assert_array_equal(part.transform(matrix), inner.transform(numbers))
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model", build=build)
    assert loaded.feature_part_.n_features_in_ == 3
    new = frame.assign(shop=np.where(shop == "a", "new", shop))[["shop", "age", "price"]]
    np.testing.assert_array_equal(loaded.predict(new), ranker.predict(new))
    with pytest.raises(ValueError, match="no categories for the formula of TorchModule"):
        ranker.components()


def test_in_scikit_learn_and_in_comparisons(tmp_path):
    ranker = fitted()
    assert repr(clone(ranker)) == repr(ranker)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"feature_part__build": [build, Residual]}
        search = GridSearchCV(clone(ranker), grid, cv=QueryKFold(2)).fit(X, Y, qid=QID)
    assert search.best_params_["feature_part__build"] in (build, Residual)
    found = compare({"ours": clone(ranker), "linear": TreeDirectRanker("linear")}, (X, Y, QID))
    assert not found.failures
    assert "<html" in report(ranker, X, Y, QID).html
    with (
        checkpointing(tmp_path / "fit"),
        pytest.raises(ValueError, match="must be of fits of boosted trees"),
    ):
        fitted()
    with pytest.raises(ValueError, match="warm_start must be False for feature_part=TorchModule"):
        TreeDirectRanker(TorchModule(build), warm_start=True).fit(X, Y, QID)


def test_known_layers_are_exported_and_others_refused(tmp_path):
    simple = fitted(three_outputs)
    export(simple, tmp_path / "model.json", format="json", check=(X, Y, QID))
    with pytest.raises(ValueError, match="layers that can be exported"):
        export(fitted(Residual), tmp_path / "model.json", format="json")


class Beside(torch.nn.Module):
    """Scores of a row that depend on other rows."""

    def __init__(self, n_features):
        super().__init__()
        self.line = torch.nn.Linear(n_features, 1)

    def forward(self, X):
        scores = self.line(X)
        return scores - scores.mean()


class NoOutputs(Beside):
    """A layer without a column."""

    def forward(self, X):
        return self.line(X)[:, :0]


class Logarithm(Beside):
    """Scores that are NaN for some rows, whatever the weights."""

    def forward(self, X):
        return self.line(X.log())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (build(3), "build must be a function of the number of features .* got Sequential"),
        (3, "build must be a function of the number of features"),
        (lambda n, width: torch.nn.Linear(n, 1), "build must take one argument, .* 'width'"),
        (lambda: torch.nn.Linear(3, 1), "build must take one argument, the number of features"),
        (lambda n: "text", "build must return a torch.nn.Module; got 'text'"),
        (lambda n: torch.nn.Linear(n, 1).requires_grad_(False), "with weights to train"),
        (lambda n: torch.nn.Linear(n + 1, 1), r"maps \(n_documents, 3\) to .* got RuntimeError"),
        (lambda n: torch.nn.Sequential(torch.nn.Linear(n, 1), torch.nn.Flatten(0)), "unsqueeze"),
        (Beside, "maps each row alone"),
        (NoOutputs, r"to \(n_documents, n_outputs\), in .*; got \(8, 0\) for 8 documents"),
        (Logarithm, "outputs are finite before it is trained; got nan from TorchModule"),
    ],
)
def test_what_cannot_score_documents_is_refused_before_training(build, message):
    with pytest.raises(ValueError, match=message):
        fitted(build)


def test_a_module_of_double_precision_is_trained_as_any_other():
    def double(n_features):
        return build(n_features).double()

    np.testing.assert_array_equal(fitted(double).predict(X), fitted().predict(X))
