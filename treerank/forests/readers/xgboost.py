"""Models of XGBoost, in JSON or UBJSON, as forests.

XGBoost rounds a value to single precision and goes left if it is below the threshold. It adds the
values of leaves in single precision, tree after tree, to the ``base_score``. Every field that
XGBoost itself reads is checked, so that it can read a model that was accepted here: XGBoost checks
little and crashes on many damaged models.
"""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from treerank.forests.building import some_trees
from treerank.forests.forest import CategorySets, Forest
from treerank.forests.thresholds import below_in_single

#: Objectives whose ``base_score`` is a score: the others transform it.
_OBJECTIVES = (
    "binary:hinge",
    "rank:map",
    "rank:ndcg",
    "rank:pairwise",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "reg:squarederror",
    "reg:squaredlogerror",
)
_MOST_CODE = 2**24  # XGBoost treats codes from here on as unknown
_NO_PARENT = (-1, 2**31 - 1)
#: XGBoost allocates a bit for each code up to the largest of a set: a small file could ask for much
#: memory.
_MOST_SET_BYTES = 2**26
#: XGBoost measures the depth of a tree by recursion, which ends the process in very deep trees.
_MOST_DEPTH = 4096
_NUMBER = re.compile(r"[-+]?[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][-+]?[0-9]{1,3})?")
#: Arrays of a tree with one entry for each node: whole numbers, and others.
_RELATIVES = ("left_children", "parents", "right_children")
_WHOLE_PER_NODE = (*_RELATIVES, "default_left", "split_indices", "split_type")
_REAL_PER_NODE = ("loss_changes", "split_conditions", "sum_hessian")
_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


def read_xgboost(document: dict[str, Any]) -> Forest:
    """Return the trees of what a model's JSON or UBJSON holds; they score as its margins are.

    A damaged model is refused, and one of a kind that a forest cannot hold: linear models, DART,
    and objectives that transform ``base_score``.
    """
    learner = _entry(document, "learner", dict)
    boosted, objective = _entry(learner, "gradient_booster", dict), _objective(learner)
    if _entry(boosted, "name", str) != "gbtree":
        _refuse("trees of booster 'gbtree'")
    if objective not in _OBJECTIVES:
        _refuse(f"an objective among {', '.join(_OBJECTIVES)}")
    sizes = _entry(learner, "learner_model_param", dict)
    n_features = _whole(sizes, "num_feature")
    trees, tree_output = _trees(_entry(boosted, "model", dict), n_features)
    constant = _constant(sizes, tree_output)
    attributes = _entry(learner, "attributes", dict, {})
    if not all(isinstance(value, str) for value in attributes.values()):
        _refuse("texts as attributes")
    zeros = attributes.get("treerank_zeros", "numbers")
    if zeros not in ("numbers", "missing"):
        _refuse("numbers or missing as treerank_zeros")
    types = _names(learner, "feature_types", n_features) or ()
    if not set(types) <= {"c", "float", "i", "int", "q"}:
        _refuse("known types of features")
    return _forest(
        trees,
        n_features=n_features,
        constant=constant,
        tree_output=tree_output,
        missing_up_to=0.0 if zeros == "missing" else -1.0,
        feature_names=_names(learner, "feature_names", n_features),
    )


def _logit(share: np.ndarray) -> np.ndarray:
    """Return the log odds; XGBoost computes the odds in single precision."""
    one = np.float32(1)
    return -np.log((one / share.astype(np.float32) - one).astype(np.float64))


#: How an objective turns ``base_score`` into the first margin.
_MARGINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "binary:logistic": _logit,
    "binary:logitraw": lambda score: score,
    "count:poisson": np.log,
    "reg:gamma": np.log,
    "reg:logistic": _logit,
    "reg:tweedie": np.log,
}


def read_xgboost_model(document: dict[str, Any]) -> Forest:
    """Return the trees of a model that XGBoost itself trained, also by other objectives and DART.

    Scores are margins, before an objective turns them into probabilities or rates. The logarithm of
    ``base_score`` may differ in its last digit, since XGBoost takes it from the C library. A fit
    that stopped early scores by the trees up to its best iteration, as XGBRanker does.
    """
    learner = dict(_entry(document, "learner", dict))
    objective = _entry(_entry(learner, "objective", dict), "name", str)
    n_classes = _whole(_entry(learner, "learner_model_param", dict), "num_class", "0")
    if n_classes > 1:
        raise ValueError(f"a ranker has one output; got {n_classes}")
    if objective not in (*_OBJECTIVES, *_MARGINS):
        _refuse(f"an objective among {', '.join(sorted((*_OBJECTIVES, *_MARGINS)))}")
    boosted, weights = dict(_entry(learner, "gradient_booster", dict)), None
    if boosted.get("name") not in ("gbtree", "dart"):
        _refuse("trees of booster 'gbtree' or 'dart'")
    if boosted["name"] == "dart":
        weights = _array(boosted, "weight_drop", "f")
        boosted = dict(_entry(boosted, "gbtree", dict)) | {"name": "gbtree"}
    model = dict(_entry(boosted, "model", dict, {}))
    names_of_categories = model.pop("cats", {})
    learner["gradient_booster"] = boosted | ({"model": model} if model else {})
    margin = _MARGINS.get(objective)
    if margin is not None:
        learner["objective"] = {"name": "reg:squarederror"}
    forest = read_xgboost(document | {"learner": learner})
    forest = replace(forest, levels=_levels(names_of_categories, forest.n_features))
    if weights is not None:
        if len(weights) != forest.n_trees:
            _refuse("a weight for each tree of DART")
        values = forest.values.astype(np.float32) * weights[forest.tree_of_node][:, None]
        forest = replace(forest, values=values.astype(np.float64))
    best = learner.get("attributes", {}).get("best_iteration")
    if best is not None:
        forest = some_trees(forest, 0, _end_of_iteration(model, int(best), forest.n_trees))
    return forest if margin is None else _with_margin(forest, margin)


def _end_of_iteration(model, number, n_trees):
    """Return the number of trees up to an iteration, which is numbered from 0, and with it.

    XGBoost 1 does not tell where iterations end, and has the same number of trees in each.
    """
    n_parallel = _whole(_entry(model, "gbtree_model_param", dict), "num_parallel_tree", "1")
    ends = model.get("iteration_indptr", range(0, n_trees + 1, max(1, n_parallel)))
    return int(ends[np.clip(number + 1, 0, len(ends) - 1)])


def _with_margin(forest: Forest, margin: Callable[[np.ndarray], np.ndarray]) -> Forest:
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = margin(forest.constant).astype(np.float32).astype(np.float64)
    if not np.isfinite(constant).all():
        raise ValueError("A model of XGBoost must have a base_score in the range of its objective.")
    return replace(forest, constant=constant + 0.0)


def _objective(learner):
    objective = _entry(learner, "objective", dict)
    for name, value in objective.items():
        if isinstance(value, list | np.ndarray):  # the propensities of unbiased rankers
            _array(objective, name, "f")
            continue
        texts = value.values() if isinstance(value, dict) else [value]
        if not all(isinstance(text, str) for text in texts):
            _refuse("texts as parameters of the objective")
    return _entry(objective, "name", str)


def _constant(sizes, tree_output):
    """Return ``base_score`` for each output, as an array; refuse outputs without trees."""
    n_outputs = max(1, _whole(sizes, "num_target", "1"), _whole(sizes, "num_class"))
    texts = _entry(sizes, "base_score", str).strip("[]").split(",")
    if len(texts) not in (1, n_outputs) or not all(map(_NUMBER.fullmatch, texts)):
        _refuse("one number for each output as base_score")
    if n_outputs > max(1, len(texts), len(tree_output)):
        _refuse("trees for each output")
    with np.errstate(over="ignore"):
        values = np.array([float(text) for text in texts]).astype(np.float32)
    return np.resize(values.astype(np.float64), n_outputs)


def _trees(model, n_features):
    """Return ``(trees, outputs)``: a dict of checked arrays for each tree, and its output."""
    documents = _entry(model, "trees", list)
    outputs = _array(model, "tree_info", "i", len(documents))
    sizes = _entry(model, "gbtree_model_param", dict)
    if _whole(sizes, "num_trees") != len(documents):
        _refuse("as many trees as num_trees")
    if "iteration_indptr" in model:
        ends = _array(model, "iteration_indptr", "i")
        if not (len(ends) and ends[0] == 0 and ends[-1] == len(documents)):
            _refuse("iterations of all trees")
        if (np.diff(ends) < 0).any():
            _refuse("iterations in order")
    categories = _entry(model, "cats", dict, {})
    if any(len(_entry(categories, name, list | np.ndarray)) for name in categories):
        _refuse("codes of categories in place of their names")
    if not all(isinstance(document, dict) for document in documents):
        _refuse("objects as trees")
    trees = [_tree(document, i, n_features) for i, document in enumerate(documents)]
    largest = [tree["codes"][np.cumsum(tree["set_sizes"]) - 1] + 1 for tree in trees]
    if sum(int(codes.sum()) for codes in largest) // 8 > _MOST_SET_BYTES:
        _refuse("smaller codes of categories, or fewer")
    return trees, outputs.astype(np.int32)


def _levels(categories, n_features):
    """Return the categories by index of the column, in the order of codes; None without any.

    Texts are joined, with the offset at which each of them ends; numbers have no offsets.
    """
    if not isinstance(categories, dict):
        _refuse("an object as categories")
    encodings = _entry(categories, "enc", list, [])
    if len(encodings) not in (0, n_features):
        _refuse("the categories of each feature, or none")
    levels = {}
    for position, encoding in enumerate(encodings):
        if not isinstance(encoding, dict):
            _refuse("objects as categories")
        values = _array(encoding, "values", "i")
        ends = _array(encoding, "offsets", "i") if "offsets" in encoding else None
        if ends is None:
            levels[position] = values.tolist()
        elif len(ends):
            levels[position] = _texts(values, ends)
        elif len(values):
            _refuse("the ends of categories")
        if len(set(levels.get(position, ()))) < len(levels.get(position, ())):
            _refuse("different categories")
    return levels or None


def _texts(values, ends):
    """Return a list of texts that are joined as bytes ``values``; ``ends`` are offsets, from 0."""
    is_within = ends[0] == 0 and ends[-1] == len(values) and not (np.diff(ends) < 0).any()
    if not is_within:
        _refuse("categories one after the other")
    if ((values < 0) | (values > 127)).any():  # XGBoost 3.2 counts letters where it has bytes
        _refuse("categories of ASCII, since XGBoost cuts others; give them other names")
    content = values.astype(np.uint8).tobytes().decode("ascii")
    return [content[a:b] for a, b in itertools.pairwise(ends.tolist())]


def _tree(document, number, n_features):
    """Return the checked arrays of one tree."""
    sizes = _entry(document, "tree_param", dict)
    n_nodes, n_values = _whole(sizes, "num_nodes"), max(1, _whole(sizes, "size_leaf_vector", "1"))
    if _entry(document, "id", int) != number or _whole(sizes, "num_feature") > n_features:
        _refuse("trees in order, and of as many features")
    tree = {name: _array(document, name, "i", n_nodes) for name in _WHOLE_PER_NODE}
    tree |= {name: _array(document, name, "f", n_nodes) for name in _REAL_PER_NODE}
    _array(document, "base_weights", "f", n_nodes * n_values)
    n_deleted = _whole(sizes, "num_deleted", "0")
    if n_deleted:
        if n_values > 1 or len(_entry(document, "categories_nodes", list | np.ndarray)):
            _refuse("trees without deleted nodes")
        tree = _without_deleted(tree, n_deleted)
        n_nodes -= n_deleted
    left, right = tree["left_children"], tree["right_children"]
    is_leaf = left == -1
    nodes = np.arange(n_nodes)[~is_leaf]
    # XGBoost finds the right child after the left child, wherever the model says it is.
    if n_nodes == 0 or (right[nodes] != left[nodes] + 1).any() or (left[nodes] < 1).any():
        _refuse("right children that follow left children")
    if (right[nodes] >= n_nodes).any() or tree["parents"][0] not in _NO_PARENT:
        _refuse("children among the nodes, and no parent of the root")
    is_child = (tree["parents"][left[nodes]] == nodes) & (tree["parents"][right[nodes]] == nodes)
    if not is_child.all() or len(nodes) * 2 + 1 != n_nodes:
        _refuse("parents of which the nodes are children")
    feature = tree["split_indices"]
    if ((feature[nodes] < 0) | (feature[nodes] >= n_features)).any():
        _refuse("features of splits among its features")
    if not np.isin(tree["default_left"], (0, 1)).all():
        _refuse("0 or 1 as default_left")
    tree["values"] = _leaf_values(document, tree, is_leaf, n_values)
    tree["is_leaf"] = is_leaf
    return tree | _categories(document, tree)


def _without_deleted(tree, n_deleted):
    """Return the arrays of a tree without deleted nodes, which are children of no node.

    XGBoost leaves them where they are if it prunes a tree, as ``tree_method="exact"`` does.
    """
    numbers = np.arange(len(tree["parents"]))
    parents = np.where(np.isin(tree["parents"], numbers), tree["parents"], 0)
    children = tree["left_children"], tree["right_children"]
    kept = (numbers == 0) | np.logical_or(*(side[parents] == numbers for side in children))
    if np.count_nonzero(~kept) != n_deleted:
        _refuse("as many nodes without a parent as num_deleted")
    number_of = dict(zip(numbers[kept].tolist(), range(len(numbers)), strict=False))
    tree = {name: values[kept] for name, values in tree.items()}
    for name in _RELATIVES:
        values = [number_of.get(node, node) for node in tree[name].tolist()]
        tree[name] = np.array(values, dtype=np.int64)
    return tree


def _leaf_values(document, tree, is_leaf, n_values):
    """Return the values of a tree's nodes, of shape (n_nodes, n_values); 0 for splits.

    ``document`` is the tree in the model file, ``tree`` its arrays, and ``is_leaf`` tells which
    nodes are leaves.
    """
    values = np.zeros((len(is_leaf), n_values))
    if n_values == 1:
        values[is_leaf, 0] = tree["split_conditions"][is_leaf]
        return values
    # A leaf with several values stores its rank among the leaves as its right child.
    ranks = tree["right_children"][is_leaf]
    weights = _array(document, "leaf_weights", "f", len(ranks) * n_values)
    if not np.array_equal(np.sort(ranks), np.arange(len(ranks))):
        _refuse("one vector for each leaf")
    values[is_leaf] = weights.reshape(-1, n_values)[ranks]
    return values


def _categories(document, tree):
    """Return the category sets of a tree, as "codes" and "set_sizes"; refuse damaged ones."""
    codes, nodes, starts, sizes = (_array(document, name, "i") for name in _CATEGORIES)
    by_set = np.flatnonzero(tree["split_type"] == 1)
    if not np.isin(tree["split_type"], (0, 1)).all() or not np.array_equal(nodes, by_set):
        _refuse("sets of categories for the nodes that split by them")
    if (tree["left_children"][nodes] == -1).any():
        _refuse("no sets of categories in leaves")
    ends = np.cumsum(sizes)
    is_joined = len(starts) == len(sizes) == len(nodes) and np.array_equal(starts, ends - sizes)
    if not is_joined or (sizes < 1).any() or (ends[-1] if len(ends) else 0) != len(codes):
        _refuse("sets of categories one after the other")
    if ((codes < 0) | (codes >= _MOST_CODE)).any():
        _refuse("codes of categories from 0 to 16777215")
    return {"codes": codes, "set_sizes": sizes}


def _forest(trees, **fields):
    """Return the forest of all trees, one after the other."""
    sizes = [len(tree["is_leaf"]) for tree in trees]
    starts = np.append(0, np.cumsum(sizes))
    shift = np.repeat(starts[:-1], sizes)

    def joined(name, dtype):
        return np.concatenate([np.zeros(0, dtype), *(tree[name] for tree in trees)]).astype(dtype)

    is_leaf, by_set = joined("is_leaf", bool), joined("split_type", bool)
    children = [joined(f"{side}_children", np.int64) + shift for side in ("left", "right")]
    left, right = (np.where(is_leaf, -1, side).astype(np.int32) for side in children)
    missing_left = joined("default_left", bool) & ~is_leaf
    numeric = ~is_leaf & ~by_set
    threshold = np.zeros(len(is_leaf))
    threshold[numeric], never = below_in_single(joined("split_conditions", np.float32)[numeric])
    # Codes of a set go right, and nothing is below minus infinity: children are swapped.
    swapped = by_set.copy()
    swapped[numeric] = never
    n_values = {tree["values"].shape[1] for tree in trees} or {1}
    if len(n_values) > 1:
        _refuse("leaves of one kind")
    width = n_values.pop()
    sets = None
    if by_set.any():
        ends = np.append(0, np.cumsum(joined("set_sizes", np.int64)))
        of_node = np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32)
        sets = CategorySets(of_node, ends, joined("codes", np.float64), "single")
    if width > 1:
        fields["tree_output"] = np.zeros_like(fields["tree_output"])
    forest = Forest(
        roots=starts[:-1].astype(np.int32),
        feature=np.where(is_leaf, -1, joined("split_indices", np.int32)).astype(np.int32),
        threshold=threshold,
        left=np.where(swapped, right, left),
        right=np.where(swapped, left, right),
        missing_left=missing_left ^ swapped,
        values=np.concatenate([np.zeros((0, width)), *(tree["values"] for tree in trees)]),
        categories=sets,
        sum_dtype="float32",
        **fields,
    )
    if forest.depth > _MOST_DEPTH:
        _refuse(f"trees of at most {_MOST_DEPTH} splits on a path")
    return forest


def _names(learner, key, n_features):
    names = _entry(learner, key, list, [])
    if not all(isinstance(name, str) for name in names) or len(names) not in (0, n_features):
        _refuse(f"a text for each feature, or none, as {key}")
    return tuple(names) or None


def _whole(sizes, name, default=None):
    """Return a whole number that is stored as a text."""
    text = _entry(sizes, name, str, default)
    if not re.fullmatch("[0-9]{1,9}", text):
        _refuse(f"a whole number as {name}")
    return int(text)


def _array(document, name, kind, size=None):
    """Return the array ``name`` of a model file's object, as int64 (``kind="i"``) or float32 ("f").

    Refuses other entries, and a number of them that is not ``size``, if given.
    """
    values = _entry(document, name, list | np.ndarray)
    if isinstance(values, list):
        number_type = int if kind == "i" else int | float
        if not all(isinstance(value, number_type) for value in values):
            _refuse(f"numbers as {name}")
        try:
            values = np.array(values, dtype=np.int64 if kind == "i" else np.float64)
        except OverflowError:
            _refuse(f"smaller numbers as {name}")
    size = len(values) if size is None else size
    if values.dtype.kind not in {"i": "iu", "f": "f"}[kind] or len(values) != size:
        _refuse(f"{size} numbers as {name}")
    if kind == "i":
        return values.astype(np.int64)
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _entry(document, name, kind, default=None):
    value = document.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        _refuse(f"{name} of the right type")
    return value


def _refuse(rule: str) -> NoReturn:
    raise ValueError(f"A model of XGBoost must have {rule}.")
