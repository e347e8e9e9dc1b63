"""Forged models of LightGBM and XGBoost, which these engines would read without checks.

Drawn are a fitted model, and one to three changes of its text or of its UBJSON: numbers, arrays,
lines, names, lengths, types, bytes. The model is then loaded as a state, or from a whole model file
with right checksums. A good answer is a ValueError (which names the file, if there is one) or a
model whose scores are finite, and equal to those of its forest bit for bit: then the engine read
what was checked. Loading may take 20 times the size of the model and 200 MB of memory.
"""

import contextlib
import re
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.rows import stored_as
from treerank.files.archive import read_archive, write_archive
from treerank.forests.scoring import forest_scores
from treerank.forests.ubjson import read_ubjson
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.registry import load

SECONDS, GIGABYTES = 60, 6

_CATEGORIES = {"categorical_features": [3]}
#: LightGBM splits by categories of few rows only with these.
_FEW_ROWS = {"engine_params": {"min_data_per_group": 1, "cat_smooth": 1.0}}
_CLASSES = {"lightgbm": LightGBMTrees, "xgboost": XGBoostTrees}
#: Fitted models by name: the engine and its parameters.
KINDS = {
    "lightgbm": ("lightgbm", {}),
    "lightgbm categories": ("lightgbm", _CATEGORIES | _FEW_ROWS),
    "lightgbm dart": ("lightgbm", {"boosting": "dart"}),
    "lightgbm stopped": ("lightgbm", {"early_stopping_rounds": 1}),
    "lightgbm zeros": ("lightgbm", {"engine_params": {"zero_as_missing": True}}),
    "lightgbm outputs": ("lightgbm", {}),
    "xgboost": ("xgboost", {}),
    "xgboost categories": ("xgboost", _CATEGORIES),
    "xgboost stopped": ("xgboost", {"early_stopping_rounds": 1}),
    "xgboost sparse": ("xgboost", {}),
    "xgboost outputs": ("xgboost", {}),
    "xgboost vectors outputs": ("xgboost", {"multi_strategy": "multi_output_tree"}),
}
_WORDS = (
    *("0", "1", "-1", "2", "3", "4", "5", "7", "8", "9", "10", "31", "100", "65536", "16777216"),
    *("2147483647", "2147483648", "-2147483648", "4294967295", "99999999999999999999", "-0"),
    *("0.5", "1e308", "-1e308", "1e999", "1e-400", "nan", "inf", "-inf", "", "x", "1_0", "0x10"),
    *("٣", "1e", "--1", "+1", ".5", "1.", " ", "1 1", "1=1", "9" * 400, "[0E0]", "1e38", "-3e38"),
)
_ENTRIES = (0, 1, -1, 2, 5, 6, 7, 100, 2**24 - 1, 2**24, 2**31 - 1, -(2**31), 2**62, 1e30, 3e38)


def case(random: np.random.Generator) -> None:
    """Load a forged model and score with it."""
    kind = str(random.choice(list(KINDS)))
    engine, params = KINDS[kind]
    model = _saved(kind)["model"]
    forge = _forged_text if engine == "lightgbm" else _forged_bytes
    for _ in range(random.integers(1, 4)):
        model = forge(random, model)
    state = _saved(kind) | {"model": model}
    as_file = "outputs" not in kind and random.random() < 0.3
    before, size, part = _reset_peak(), len(model), None
    try:
        with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "forged.treerank"
            if as_file:
                content = _file_content(kind)
                content["state"]["learned"]["feature_part_"]["state"] = state
                write_archive(path, content)
                part = load(path).feature_part_
            else:
                part = _CLASSES[engine](n_jobs=1, **params).set_state(state)
    except ValueError as error:
        refusal = str(error)
        assert not as_file or str(path) in refusal, f"no path in {refusal[:300]}"
        assert len(refusal) < 3000, f"a message of {len(refusal)} characters"
    if part is not None:
        _check_scores(random, part)
    taken, most = _peak() - before, 20 * size + 200 * 2**20
    assert taken <= most, f"{taken / 2**20:.0f} MB for a model of {size} bytes"


def _check_scores(random, part):
    """Score random rows, and do what else reads a model."""
    n_features = part.n_features_in_
    if n_features > 10_000:
        return
    X = _rows(random, n_features)
    scores = engine_scores(part, X)
    assert np.isfinite(scores).all(), f"scores are {scores[:5]}"
    assert scores.tobytes() == forest_scores(part.forest(), X).tobytes(), (
        "scores differ from the forest's"
    )
    again = type(part)(n_jobs=1).set_state(part.get_state())
    assert scores.tobytes() == engine_scores(again, X).tobytes(), "the second state differs"
    assert part.feature_importances_.shape == (n_features,)
    if random.random() < 0.1 and n_features == 4:
        _continue(part)


def engine_scores(part, X):
    """Return the scores that the engine itself gives, of shape (n_documents, n_outputs)."""
    if isinstance(part, LightGBMTrees):
        scores = part.booster_.predict(X, raw_score=True)
    else:
        sparse = part.booster_.attr("treerank_zeros") == "missing"
        scores = part.booster_.inplace_predict(stored_as(X, sparse=sparse), predict_type="margin")
    return scores.astype(np.float64).reshape(len(X), part.n_outputs_)


def _continue(part):
    """Add a tree; an engine may refuse, but not crash."""
    X, target = _data()
    n_trees = part.best_iteration_ + 1
    part.set_params(warm_start=True, n_estimators=n_trees, early_stopping_rounds=None)
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
        part.fit(X, HalfSquare(np.tile(target[:, None], part.n_scores_).squeeze(1)))


class HalfSquare:
    """Half the squared distance to a target."""

    def __init__(self, target):
        self.target = target
        self.n_outputs = 1 if target.ndim == 1 else target.shape[1]

    def derivatives(self, scores, *, iteration=0):
        return scores - self.target, np.ones_like(scores)


def _rows(random, n_features):
    """Return rows with common, missing, infinite, tiny and enormous values."""
    rare = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-36, -5e-324, 2.0**31])
    X = random.normal(size=(random.integers(1, 80), n_features)).round(1)
    return np.where(random.random(X.shape) < 0.3, random.choice(rare, X.shape), X)


@cache
def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4)).round(1)
    X[::7, 1], X[:, 3] = np.nan, rng.integers(0, 6, 160)
    return X, np.nan_to_num(X[:, 0] * X[:, 1]) + np.isin(X[:, 3], (1, 2, 4))


@cache
def _saved(kind):
    """Return the state of a fitted model."""
    engine, params = KINDS[kind]
    X, target = _data()
    target = np.column_stack([target, X[:, 0]]) if "outputs" in kind else target
    validation = (X[:40], lambda scores: -float(np.square(scores - target[:40]).mean()))
    part = _small(engine, params)
    data = csr_matrix(np.nan_to_num(X)) if "sparse" in kind else X
    stopped = validation if "stopped" in kind else None
    return part.fit(data, HalfSquare(target), validation=stopped).get_state()


def _small(engine, params):
    small = {"n_estimators": 3, "num_leaves": 5, "n_jobs": 1, "random_state": 0}
    small |= {"min_child_samples": 5} if engine == "lightgbm" else {"max_depth": 3}
    return _CLASSES[engine](**small, **params)


def _file_content(kind):
    """Return the content of the file of a ranker with some feature part of that kind."""
    engine, params = KINDS[kind]
    params = {name: value for name, value in params.items() if name != "early_stopping_rounds"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(_file(engine, repr(params)))
        return read_archive(path)


@cache
def _file(engine, params):
    X, target = _data()
    ranker = TreeDirectRanker(_small(engine, eval(params)), random_state=0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        ranker.fit(X, np.digitize(target, [0, 1]), np.repeat(np.arange(8), 20))
        ranker.save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def _forged_text(random, text):
    """Return the text of a model of LightGBM with one change."""
    lines = text.split("\n")
    i = int(random.integers(len(lines)))
    name, sign, value = lines[i].partition("=")
    words = value.split(" ")
    at = int(random.integers(len(words)))
    match random.integers(12):
        case 0 | 1 | 2 | 3:
            words[at] = _pick(random, _WORDS)
        case 4:
            words[at] = _pick(random, words)
        case 5:
            words = list(random.permutation(words))
        case 6:
            words = _resized(random, words)
        case 7:
            lines.insert(i, _pick(random, lines))
            i, name, sign, words = 0, lines[0], "", []
        case 8:
            lines[i] = _pick(random, lines)
            name, sign, words = lines[i], "", []
        case 9:
            name = _pick(random, ["", "x", "Tree", "\r", "\0", "num_leaves", "is_linear", "é"])
        case 10:
            place = random.integers(len(text))
            cut = text[: place + random.integers(8)]
            return cut if random.random() < 0.3 else cut + text[place:]
        case 11:
            blocks = text.split("Tree=")
            blocks[_pick(random, range(len(blocks)))] = _pick(random, blocks)
            return _with_sizes("Tree=".join(blocks))
    lines[i] = name + sign + " ".join(words)
    forged = "\n".join(lines)
    return _with_sizes(forged) if random.random() < 0.8 else forged


def _with_sizes(text):
    """Return a text whose line of tree sizes is right, so that other checks are reached."""
    body, end, rest = text.partition("end of trees\n")
    blocks = re.split(r"^Tree=", body, flags=re.MULTILINE)
    sizes = " ".join(str(len(f"Tree={block}".encode())) for block in blocks[1:])
    return re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", body, flags=re.MULTILINE) + end + rest


def _forged_bytes(random, data):
    """Return the UBJSON of a model of XGBoost with one change."""
    try:
        document = read_ubjson(data)
    except ValueError:
        document = None
    if document is None or random.random() < 0.25:
        place, n = int(random.integers(len(data))), int(random.integers(9))
        kept = data[:place] if random.random() < 0.8 else b""
        return kept + random.bytes(n) + data[place + int(random.integers(9)) :]
    inside = _pick(random, _containers(document))
    if not len(inside):
        return data
    key = _pick(random, list(inside) if isinstance(inside, dict) else range(len(inside)))
    value, others = inside[key], list(inside.values() if isinstance(inside, dict) else inside)
    match random.integers(10):
        case 0:
            del inside[key]
        case 1:
            inside[key] = _pick(random, others)
        case 2:
            inside[key] = _pick(
                random, [None, True, 0, -1, 2**40, 0.5, "", "1", [], {}, [[]], "gblinear"]
            )
        case _:
            inside[key] = _changed(random, value)
    return _ubjson(document)


def _changed(random, value):
    """Return another value of the same type."""
    if isinstance(value, str):
        return _pick(random, (*_WORDS, "[0E0,0E0]", "rank:ndcg", "binary:logistic", "c", "missing"))
    if isinstance(value, np.ndarray):
        if not len(value) or random.random() < 0.2:
            return np.array(_resized(random, list(value)), value.dtype)
        if random.random() < 0.15:
            return value.astype(_pick(random, ["i1", "u1", "i4", "i8", "f4", "f8"]))
        if random.random() < 0.15:
            return random.permutation(value)
        value, new = value.copy(), _pick(random, (*_ENTRIES, np.nan, np.inf, *value))
        with np.errstate(all="ignore"):
            value[random.integers(len(value))] = np.array([new]).astype(value.dtype)[0]
        return value
    if isinstance(value, list):
        return _resized(random, value)
    return _pick(random, _ENTRIES)


def _containers(value):
    """Return all objects and lists; those within trees are the most."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [value] if isinstance(value, dict | list) else []
    return found + [place for item in inner for place in _containers(item)]


def _resized(random, values):
    """Return more or fewer values."""
    n = int(_pick(random, [0, 1, len(values) - 1, len(values) + 1, 2 * len(values), 3000]))
    return (values * (n // max(len(values), 1) + 1))[:n]


def _pick(random, values):
    return values[random.integers(len(values))]


_MARKERS = {"i1": "i", "u1": "U", "i2": "I", "i4": "l", "i8": "L", "f4": "d", "f8": "D"}


def _ubjson(value):
    """Return a value in UBJSON, as XGBoost writes it."""
    match value:
        case None | bool():
            return {None: b"Z", True: b"T", False: b"F"}[value]
        case str():
            text = value.encode()
            return b"SL" + len(text).to_bytes(8, "big") + text
        case int() | np.integer():
            return b"L" + int(np.clip(int(value), -(2**63), 2**63 - 1)).to_bytes(
                8, "big", signed=True
            )
        case float() | np.floating():
            return b"D" + np.array(value, ">f8").tobytes()
        case list():
            return b"[" + b"".join(map(_ubjson, value)) + b"]"
        case dict():
            return b"{" + b"".join(_ubjson(k)[1:] + _ubjson(v) for k, v in value.items()) + b"}"
    marker = _MARKERS[value.dtype.str[1:]].encode()
    big_endian = value.astype(value.dtype.newbyteorder(">")).tobytes()
    return b"[$" + marker + b"#L" + len(value).to_bytes(8, "big") + big_endian


def _reset_peak():
    """Let Linux forget the peak of this process's memory; return what is taken now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
