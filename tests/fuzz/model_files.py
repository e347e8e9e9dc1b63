"""Forged model files: the content of a saved model is changed, and zipped again.

Drawn are a kind of ranker and one to three changes: JSON values are replaced, removed, added or
nested deeply; entries, types, shapes and headers of arrays are changed; members are removed, added,
repeated, renamed or enormous; sizes are lies, and compression methods others; words and bytes of
models of LightGBM and XGBoost, which these engines would read without checks, are changed. A good
answer is one ValueError that names the file, or a ranker whose scores and probabilities are finite,
and those of an engine equal to those of its forest bit for bit: then it read what was checked.
Loading may take 20 times the size of the file and 200 MB of memory.
"""

import contextlib
import copy
import io
import json
import re
import struct
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from small_rankers import made

from tests.fuzz import attempt, change_json, folder, pick
from treerank import NDCG, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.forests.scoring import forest_scores
from treerank.objectives import Pairs
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.registry import RANKERS, load

SECONDS, GIGABYTES = 60, 6

_MANIFEST = "treerank.json"
_SETS = {"categorical_features": [3]}
#: LightGBM splits by categories of few rows only with these.
_FEW_ROWS = {"min_data_per_group": 1, "cat_smooth": 1.0}
_PLAIN = "histogram", "mlp", "polynomial", "soft_trees", "lightgbm", "xgboost"
#: Feature parts under TreeDirectRanker, by name: a name in the registry and parameters.
_PARTS = {name: (name, {}) for name in _PLAIN} | {
    "histogram sets": ("histogram", _SETS | {"min_child_samples": 2}),
    "histogram large": ("histogram", {"num_leaves": 600, "min_child_samples": 1}),
    "mlp without hidden layers": ("mlp", {"hidden": (), "start": "zero"}),
    "mlp with a head": ("mlp", {"n_outputs": 3, "activation": "relu", "dropout": 0.1}),
    "lightgbm sets": ("lightgbm", _SETS | {"engine_params": _FEW_ROWS}),
    "xgboost sets": ("xgboost", _SETS),
}
KINDS = (
    *_PARTS,
    "categories",
    "objects",
    *(name for name in RANKERS if name != "TreeDirectRanker"),
)

_NUMBERS = (0, 1, -1, 2, 3, 5, 255, 256, 10**4, 2**31, -(2**31), 2**63, 10**30, 10**400, 0.5)
_FLOATS = ("nan", "inf", "-inf", "1e999", "__import__('os')")
_TEXTS = (
    "",
    "x",
    "\ud83d\ude00",
    "/etc/passwd",
    "tanh",
    "polynomial",
    "my_loss (not saved)",
    "cuda",
)
_WORDS = (
    *("0", "1", "-1", "2", "7", "100", "65536", "2147483648", "-2147483648", "9" * 20, "0.5"),
    *("1e308", "1e999", "1e-400", "nan", "inf", "", "x", "1_0", "0x10", "٣", "1 1", "1=1"),
)
_DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "int64", "float32", "float64", ">f8")
_ENTRIES = (0, 1, -1, 2, 7, 255, 2**31, 2**32 - 1, -(2**31), 2**62, 1e30, 1e300, np.nan, np.inf)


def case(random: np.random.Generator) -> None:
    """Load a forged file and score with it."""
    kind = str(random.choice(KINDS))
    manifest, members = copy.deepcopy(_model(kind))
    forge = _Forge(random, manifest, members)
    for name in random.choice(_CHANGES, size=random.integers(1, 4)):
        getattr(forge, name)()
    path = folder() / "forged.treerank"
    path.write_bytes(forge.file())
    _check(path)


def _check(path):
    """Load a file and refuse any other answer than one clear error or finite scores."""
    Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak of this process
    before = _peak()
    answer = attempt(_answers, path)
    if isinstance(answer, ValueError):
        assert str(path) in str(answer), f"no path in {str(answer)[:300]}"
        assert len(str(answer)) < 3000, f"a message of {len(str(answer))} characters"
    else:
        assert all(np.isfinite(numbers).all() for numbers in answer), f"{answer}"
    taken, most = _peak() - before, 20 * path.stat().st_size + 200 * 2**20
    assert taken <= most, f"{taken / 2**20:.0f} MB for a file of {path.stat().st_size} bytes"


def _answers(path):
    """Return scores and probabilities of a loaded ranker, none if its documents are too wide."""
    ranker = load(path)
    if ranker.n_features_in_ > 10_000:
        return ()
    rows = _rows(ranker)
    scores = ranker.predict(rows)
    _check_forest(ranker, rows, scores)
    return scores, ranker.predict_pair_proba(rows, rows[:1])


def _check_forest(ranker, rows, scores):
    """Refuse scores of an engine that are not those of the forest that was checked."""
    part = vars(ranker).get("feature_part_")
    is_engine = isinstance(part, LightGBMTrees | XGBoostTrees) and isinstance(rows, np.ndarray)
    if is_engine and part.n_outputs_ == 1 and ranker.head_.weight[0] == 1:
        with contextlib.suppress(ValueError):  # no forest: zeros are missing for some splits
            expected = forest_scores(part.forest(), rows)[:, 0]
            assert scores.tobytes() == expected.tobytes(), "scores differ from the forest's"


def _peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _rows(ranker):
    """Return documents for a ranker."""
    rows = np.random.default_rng(1).normal(size=(40, ranker.n_features_in_))
    rows[::7] = np.nan
    if not ranker.columns_.categories:
        return rows
    table = pd.DataFrame(rows, columns=getattr(ranker, "feature_names_in_", None))
    for place, found in ranker.columns_.categories.items():
        values = [str(value) for value in found] or ["x"]
        table.isetitem(place, [values[i % len(values)] for i in range(len(rows))])
    return table


@cache
def _model(kind):
    """Return manifest and members of a saved model."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 5)), np.repeat(np.arange(6), 20)
    y = np.clip(np.round(X[:, 0] + 1), 0, 3)
    X[::7, 1] = np.nan
    X[:, 3] = rng.integers(0, 4, 120)
    if kind == "categories":
        X = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 3] > 1, "red", "blue")})
    with warnings.catch_warnings(action="ignore"):
        _ranker(kind).fit(X, y, qid).save(folder() / "model")
    with zipfile.ZipFile(folder() / "model") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop(_MANIFEST)), members


def _ranker(kind):
    if kind == "objects":
        settings = {"metric": NDCG(5), "pairs": Pairs(top=5), "weight": PAIR_WEIGHTS["ndcg"]}
        return TreeDirectRanker("linear", random_state=np.random.RandomState(0), **settings)
    if kind in _PARTS or kind == "categories":
        name, settings = _PARTS.get(kind, ("histogram", {}))
        return TreeDirectRanker(made(name).feature_part.set_params(**settings), random_state=0)
    return made(kind)


class _Forge:
    """The content of a file, and changes to it."""

    def __init__(self, random, manifest, members):
        self.random, self.manifest, self.members = random, manifest, members
        self.repeated, self.text_changes = [], []
        self.methods = [zipfile.ZIP_DEFLATED]
        self.lies = False

    def _pick(self, values):
        return pick(self.random, values)

    def file(self):
        """Return the bytes of the file."""
        text = json.dumps(self.manifest)
        for old, new in self.text_changes:
            text = text.replace(old, new, 1)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings(action="ignore"):
            members = [(_MANIFEST, text.encode()), *self.members.items(), *self.repeated]
            for name, data in members:
                archive.writestr(name, data, self._pick(self.methods))
        data = bytearray(buffer.getvalue())
        if self.lies:
            self._lie(data)
        return bytes(data)

    def replace_value(self):
        """Change a JSON value somewhere, mostly in the content."""
        is_content = self.random.random() < 0.95
        whole = self.manifest.get("content") if is_content else self.manifest
        change_json(self.random, whole, [self._value() for _ in range(7)])

    def change_text(self):
        """Change the JSON text: constants, endless brackets, huge numbers, text that is none."""
        depth = int(10 ** self.random.uniform(2, 5))
        deep = "[" * depth + "]" * self._pick([0, depth])
        news = ["NaN", "-Infinity", deep, "1" * 5000, '"' + "ä" * 100 + '"', "{" * 9, "[]," * 10**6]
        self.text_changes.append((self._pick(["null", "true", "0", "{", '"']), self._pick(news)))

    def change_array(self):
        """Change type or shape of an array, or mostly one entry or all."""
        name, array = self._array()
        if array is not None:
            with np.errstate(all="ignore"):
                self.members[name] = _npy(self._changed(array))

    def _changed(self, array):
        if array.dtype.kind not in "biuf" or not array.size or self.random.random() < 0.3:
            rows = np.atleast_1d(array)
            forms = [array.astype(self._pick(_DTYPES)), array.reshape(-1), array[None]]
            forms += [rows[: self.random.integers(len(rows) + 1)], np.concatenate([rows, rows])]
            forms += [np.asfortranarray(np.stack([array, array], axis=-1))]
            forms += [np.zeros(self.random.integers(0, 5, size=self.random.integers(4)))]
            return self._pick(forms)
        if array.ndim and self.random.random() < 0.2:
            return self.random.permutation(array)
        places = slice(None) if self.random.random() < 0.3 else self.random.integers(array.size)
        array = array.copy()
        array.flat[places] = np.array(self._pick(_ENTRIES)).astype(array.dtype)
        return array

    def change_header(self):
        """Change the header of an array: shape, type or text."""
        name, array = self._array()
        if array is None:
            return
        shapes = ["(10**9,)", "(1000000000,)", "(-1,)", "(2, -3)", "(0, 9999999999999)", "(True,)"]
        shapes += ["(" * 300, "-" * 900 + "1", "(9" + "9" * 300 + ",)", "x", "'"]
        types = ["'|O'", "'<f8'", "'|V1000000000'", "'|S0'", "[('a', '<f8')]", "'x'", "'<U99999'"]
        dtype = self._pick(types) if self.random.random() < 0.5 else repr(array.dtype.str)
        shape = self._pick(shapes) if self.random.random() < 0.7 else str(array.shape)
        order = self._pick(["False", "True", "3"])
        header = f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}"
        version = self._pick([b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x09\x00"])
        length = self._pick([len(header) + 1, len(header) + 1, 0, 65535])
        start = b"\x93NUMPY" + version + struct.pack("<H", length)
        self.members[name] = start + header.encode() + b"\n" + array.tobytes()

    def change_members(self):
        """Remove, add, repeat, rename, cut or exchange members."""
        names = list(self.members) or ["0.npy"]
        name, other = self._pick(names), self._pick(names)
        data = self.members.get(name, b"")
        match self.random.integers(7):
            case 0:
                self.members.pop(name, None)
            case 1:
                self.members[self._pick(["9.npy", "../../x", "/etc/x", "a" * 5000])] = data
            case 2:
                self.repeated.append((self._pick([name, _MANIFEST]), self._pick([data, b"{}"])))
            case 3:
                self.members[name] = data[: self.random.integers(len(data) + 1)]
            case 4:
                self.members[name], self.members[other] = self.members.get(other, b""), data
            case 5:
                at = self.random.integers(len(data) + 1)
                self.members[name] = data[:at] + self.random.bytes(3) + data[at + 3 :]
            case 6:
                self.members["b" + name] = self.members.pop(name, b"")

    def change_model(self):
        """Change a word of the text of LightGBM's trees, and let the sizes of trees be right."""
        with contextlib.suppress(LookupError, TypeError, AttributeError):  # there may be none
            state = self.manifest["content"]["state"]["learned"]["feature_part_"]["state"]
            lines = state["model"].split("\n")
            at, other = self.random.integers(len(lines), size=2)
            name, sign, value = lines[at].partition("=")
            words = value.split(" ")
            words[self.random.integers(len(words))] = self._pick([*_WORDS, *words])
            changed = name + sign + " ".join(words)
            renamed = self._pick(["", "x", "Tree", "\r", "\0", "is_linear"]) + sign + value
            lines[at] = self._pick([lines[other], renamed, changed, changed, changed])
            body, end, rest = "\n".join(lines).partition("end of trees\n")
            blocks = re.split(r"^Tree=", body, flags=re.MULTILINE)[1:]
            sizes = "tree_sizes=" + " ".join(str(len(f"Tree={each}".encode())) for each in blocks)
            body = re.sub(r"^tree_sizes=.*$", sizes, body, flags=re.MULTILINE)
            state["model"] = body + end + rest

    def add_bomb(self):
        """Add a member that is enormous once inflated, or make a member so."""
        if self.random.random() < 0.8:  # they take long to make
            return
        n = int(10 ** self.random.uniform(6, 7))
        names = [*self.members, "bomb.npy"]
        bombs = [_npy(np.zeros(n)), bytes(8 * n), b"[" + b"[]," * (2 * n) + b"0]"]
        self.members[self._pick(names)] = self._pick(bombs)

    def change_method(self):
        """Use other methods of compression."""
        self.methods = [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2]
        self.methods.append(zipfile.ZIP_LZMA)

    def lie_about_sizes(self):
        """Change numbers in the headers of the zip file."""
        self.lies = True

    def _lie(self, data):
        place = self._pick([found.start() for found in re.finditer(b"PK\x01\x02", data)])
        # method, CRC, compressed size, size, lengths of name and of extra data, offset
        fields = {10: "<H", 16: "<I", 20: "<I", 24: "<I", 28: "<H", 30: "<H", 42: "<I"}
        field, form = self._pick([*fields.items()])
        value = self._pick([0, 1, 100, 2**16 - 1, 2**31, 2**32 - 1])
        struct.pack_into(form, data, place + field, value & (2 ** (8 * struct.calcsize(form)) - 1))

    def _value(self):
        """Return some JSON value."""
        names = [*self.members, "none"]
        nested = 0
        for _ in range(int(10 ** self.random.uniform(0, 2))):
            nested = self._pick([[nested], {"$tuple": [nested]}])
        few = [self._pick(_NUMBERS) for _ in range(self.random.integers(4))]
        values = [*[self._pick(_NUMBERS)] * 3, self._pick(_TEXTS), nested, {"$tuple": few}]
        values += [{"$float": self._pick(_FLOATS)}, {"$array": self._pick(names)}]
        values += [{"$bytes": self._pick(names)}]
        values += [self._pick([None, True, False, [], {}, [[]], {"$tuple": []}, "x" * 10**5])]
        return self._pick(values)

    def _array(self):
        """Return the name and the values of an array member; None if it cannot be read."""
        names = [name for name, data in self.members.items() if len(data) <= 10**6] or ["0.npy"]
        name = self._pick(names)
        content = io.BytesIO(self.members.get(name, b""))
        array = attempt(np.load, content, errors=Exception)
        return name, array if isinstance(array, np.ndarray) else None


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


#: Changes by name; those of states are the most likely.
_CHANGES = (
    *("replace_value",) * 8,
    *("change_array",) * 12,
    *("change_model",) * 8,
    *("change_header", "change_members", "change_members", "change_text"),
    *("add_bomb", "change_method", "lie_about_sizes"),
)
