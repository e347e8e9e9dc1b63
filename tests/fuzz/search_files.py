"""Files of judges and of search engines, and events of users, with mistakes.

A file of judgments, or of answers with features, is written in the shape of a program, and then
parts of its JSON are removed, moved or replaced, or bytes of it. A good answer is a ValueError that
names the file, or rows of which every id and label stands in the file. Of queries and events, it is
a short ValueError, or a log of what stands there.
"""

import json
import math
import re
from pathlib import Path

import numpy as np
from search_files import ENGINES, FEATURES, JUDGED, LOGGED, judgment_files

from tests.fuzz import attempt, change_bytes, change_json, folder, pick, places
from treerank import read_feature_log, read_judgments
from treerank.search_engines import read_ubi
from treerank.search_engines.judgments import json_of

VALUES = [None, True, "", "a", "1", "NaN", "a=1", 0, -3, 1e300, math.inf, math.nan, [], {}, [{}]]
VALUES += [{"a": 1}, [1, 2], "x" * 999, "\0", "\ud7ff", {"hits": {"hits": 3}}, [[1]], 10**400]


def mutate(random: np.random.Generator, whole):
    """Return a JSON value of which up to three parts are changed."""
    for _ in range(random.integers(4)):
        change_json(random, whole, VALUES)
    return whole


def words_of(path: Path) -> set[str]:
    """Return all keys and values of a file as text."""
    if path.suffix != ".json":
        cells = re.split(r"[,\n\r]" if path.suffix == ".csv" else r"[\t\n\r]", path.read_text())
        return {word for cell in cells for word in (cell.strip(), cell.strip(' "\0'))}
    found = places(json_of(path))
    return {str(x).strip().rstrip("\0") for owner, key in found for x in (key, owner[key])}


def events_case(random: np.random.Generator) -> None:
    """Read queries and events, of which some repeat and some have no hits."""
    hits = [["a", "b", "c"], [], None, "a", ["b", "c"]]
    keys = [str(key) for key in random.integers(4, size=6)]
    queries = [
        {"query_id": key, "user_query": "q", "query_response_hit_ids": pick(random, hits)}
        | {"query": json.dumps({"from": int(random.choice([0, 0, 1, 3]))})}
        for key in keys
    ]
    events = [
        {"query_id": str(key), "action_name": str(random.choice(["click", "impression"]))}
        | {"event_attributes": {"object": {"object_id": "abc"[at]}, "position": {"ordinal": at}}}
        for key, at in random.integers([4, 3], size=(12, 2)).tolist()
    ]
    whole = mutate(random, {"queries": queries, "events": events})
    words = {str(x) for owner, key in places(whole) for x in (key, owner[key])}
    errors = ValueError, TypeError
    log = attempt(read_ubi, whole.get("queries", []), whole.get("events", []), errors=errors)
    if isinstance(log, TypeError):
        assert not all(isinstance(part, list) for part in whole.values()), log
    elif isinstance(log, ValueError):
        assert len(str(log)) < 600, log
    else:
        assert {*log.items.document.tolist()} <= {word.rstrip("\0") for word in words}


def case(random: np.random.Generator) -> None:
    """Read one file, or events."""
    if random.random() < 0.3:
        events_case(random)
        return
    is_log = bool(random.integers(2))
    name, text = pick(random, list(judgment_files(JUDGED).items()))
    if is_log:
        engine = pick(random, list(ENGINES.values()))
        name, text = "log.json", json.dumps({query: engine(LOGGED[query]) for query in LOGGED})
    if name.endswith(".json"):
        text = json.dumps(mutate(random, json.loads(text)))
    path = folder() / name
    content = text.encode()
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        content = change_bytes(random, content, [b'"', b",", b"\xff", b"\n"])
    path.write_bytes(content)
    if is_log:
        features = pick(random, [FEATURES, None])
        data = attempt(read_feature_log, path, features=features)
    else:
        data = attempt(read_judgments, path)
    if isinstance(data, ValueError):
        assert str(path) in str(data), data
        assert len(str(data)) < 1000, str(data)[:1000]
        return
    words = words_of(path)
    text = path.read_text()  # its lines may be free, and quoted cells have several words
    assert all(id in words or id in text for id in (*data.qid.tolist(), *data.doc_ids.tolist()))
    if is_log:
        assert data.X.column_names == FEATURES or features is None
        assert not any(np.isinf(column.to_numpy()).any() for column in data.X.columns)
    else:
        numbers = {float(x) for x in words if re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", x)}
        assert {*data.y.tolist()} <= numbers
