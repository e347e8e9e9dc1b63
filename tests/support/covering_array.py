"""Covering arrays: few cases in which each combination of a few settings occurs."""

from itertools import combinations, product

import numpy as np


def covering_array(levels, strength, *, forbidden=(), among=None, seed=0, n_candidates=20):
    """Return cases in which all levels of any ``strength`` factors meet, each a dictionary.

    ``levels`` are the levels of each factor. Cases hold no combination of ``forbidden``, which are
    dictionaries; what cannot be without one need not be covered. The factors ``among``, of all by
    default, are those that must meet; the others get levels that cover what is left of their pairs.

    Greedy: each case is the best of ``n_candidates`` that are grown, factor by factor in a drawn
    order, from a combination that is not covered yet.
    """
    rng = np.random.default_rng(seed)
    open_ = {
        frozenset(zip(names, values, strict=True))
        for names in combinations(sorted(among or levels), strength)
        for values in product(*(levels[name] for name in names))
    }
    open_ = {combination for combination in open_ if _can_be(dict(combination), forbidden)}
    cases = []
    while open_:
        start = dict(min(open_, key=lambda combination: sorted(map(repr, combination))))
        grown = (
            _grown(start, levels, forbidden, open_, strength, rng) for _ in range(n_candidates)
        )
        candidates = [case for case in grown if case is not None]
        if not candidates:  # other levels of other factors forbid each way to complete it
            open_.remove(frozenset(start.items()))
            continue
        best = max(candidates, key=lambda case: _n_covered(case, open_))
        cases.append({name: best[name] for name in levels})
        open_ = {combination for combination in open_ if not combination <= best.items()}
    return cases


def _grown(start, levels, forbidden, open_, strength, rng):
    """Return a case with the levels of ``start``, or None where its last levels are forbidden."""
    case = dict(start)
    for name in rng.permutation([name for name in levels if name not in start]).tolist():
        allowed = [level for level in levels[name] if _can_be(case | {name: level}, forbidden)]
        if not allowed:
            return None
        gains = [_n_new(case, name, level, open_, strength) for level in allowed]
        best = np.flatnonzero(np.array(gains) == max(gains))
        case[name] = allowed[int(rng.choice(best))]
    return case


def _n_new(case, name, level, open_, strength):
    """Return how many open combinations a level would cover together with earlier ones."""
    others = combinations(sorted(case.items()), strength - 1)
    return sum(frozenset([*other, (name, level)]) in open_ for other in others)


def _n_covered(case, open_):
    return sum(combination <= case.items() for combination in open_)


def _can_be(case, forbidden):
    return not any(each.items() <= case.items() for each in forbidden)
