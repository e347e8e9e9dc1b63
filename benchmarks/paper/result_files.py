"""Result files: one compact file per figure or table, with one line per point.

A file holds the parts of a figure or table: its panels, or its data sets. It is in JSON Lines. A
list holds the values of one entry; the object above it holds their keys, in the same order and with
null in the place of each value. A number instead of an object stands for the object of that index,
counted from 0, so that keys are written once. There are three kinds of entries:

* ``ranker``: the parameters of a ranker. It stands before the first part that shows it.
* ``part``: how a part was made: settings of all points, names of the rankers, versions, machine.
* ``point``: the settings of one point of the part before, its result, and its seconds.

``read_parts`` and ``write_parts`` convert between such a file and a dictionary of parts.
"""

import json


def read_parts(path):
    """Return the parts of a file by name."""
    return parts_of(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def write_parts(path, parts):
    """Write a file as a whole or not at all."""
    compact = {"separators": (",", ":"), "allow_nan": False}
    lines = [json.dumps(record, **compact) for record in records_of(parts)]
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text("\n".join([*lines, ""]), encoding="utf-8")
    unfinished.replace(path)


def records_of(parts):
    """Yield the lines of a file as JSON values."""
    shapes, last = [], None
    for entry in entries_of(parts):
        shape = shape_of(entry)
        if shape not in shapes:
            shapes.append(shape)
            yield shape
        elif shape != last:
            yield shapes.index(shape)
        last = shape
        yield list(values_of(entry))


def entries_of(parts):
    """Yield rankers that are new, the head and the points of each part."""
    rankers = {}
    for name, content in parts.items():
        shown = content["about"].get("rankers", {})
        yield from ({"ranker": n} | r for n, r in shown.items() if rankers.get(n) != r)
        rankers |= shown
        about = content["about"] | {"rankers": list(shown)}
        yield {"part": name, "about": about} | {n: content[n] for n in ("versions", "machine")}
        yield from content["results"]


def parts_of(records):
    """Return the parts that the lines of a file hold."""
    rankers, parts = {}, {}
    for entry in filled_entries(records):
        if "ranker" in entry:
            rankers[entry.pop("ranker")] = entry
        elif "part" in entry:
            about = entry["about"]
            about |= {"rankers": {name: rankers[name] for name in about["rankers"]}}
            content = parts[entry.pop("part")] = entry
            content["results"] = []
        else:
            content["results"].append(entry)
    return parts


def filled_entries(records):
    """Yield the entries that the lines of a file hold."""
    shapes, shape = [], None
    for record in records:
        if isinstance(record, list):
            yield filled(shape, iter(record))
            continue
        if isinstance(record, dict):
            shapes.append(record)
        shape = shapes[record] if isinstance(record, int) else record


def shape_of(value):
    """Return the keys of a JSON value, with None in the place of each value that is no object."""
    if isinstance(value, dict) and value:
        return {key: shape_of(entry) for key, entry in value.items()}
    return None


def values_of(value):
    """Yield the values of a JSON value in the order of its shape."""
    if isinstance(value, dict) and value:
        for entry in value.values():
            yield from values_of(entry)
    else:
        yield value


def filled(shape, values):
    """Return the JSON value of a shape, with the next values in the place of each None."""
    if shape is None:
        return next(values)
    return {key: filled(entry, values) for key, entry in shape.items()}
