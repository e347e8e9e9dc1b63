"""Coverage of 95 % intervals from labels of few queries by people and of 1,000 by an LLM.

Five simulated judges, four questions (NDCG@10 of a ranker, and three differences of rankers), and
20 to 100 queries of people. "synthetic" is made here; "msrd" has the labels and BM25 of MSRD, and a
simulated dense retriever and cross-encoder (``retrievers.py``). Each repeat draws 1,000 queries of
all, of which people judge the first. Then P@10, of whole queries and by documents.
"""

import numpy as np
from scipy import stats

from treerank import NDCG
from treerank.statistics.double_sampling import prediction_powered, regression_estimate

from . import retrievers

METRIC = NDCG(k=10, gain="linear", no_relevant=0.0)
HUMAN = (20, 30, 50, 100)
N_LLM = 1000
#: Least coverage of the regression estimate, by the number of queries that people judge.
BARS = {20: 0.90, 30: 0.92, 50: 0.93, 100: 0.93}
#: Repeats at a time, which bounds the memory.
_CHUNK = 200


def synthetic(n_queries=12_000, size=24, seed=0):
    """Return labels, queries and the scores of three retrievers of a synthetic collection."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_queries), size)
    share = rng.beta(1.5, 7, size=n_queries)[codes]
    y = (rng.random(len(codes)) < share).astype(np.float64)
    y[np.arange(n_queries) * size + rng.integers(size, size=n_queries)] = 1.0  # nobody asks in vain
    scores = {}
    for name, skill in {"bm25": 0.8, "dense": 1.8, "cross": 3.2}.items():
        strength = skill * rng.gamma(3, 1 / 3, size=n_queries)[codes]
        scores[name] = strength * y + rng.standard_t(4, size=len(y))
    return y, codes, scores


def msrd(path):
    """Return labels, queries and the scores of three retrievers of queries of MSRD."""
    data = retrievers.candidates("strong", path, n_queries=12_000)
    kept = ~np.isnan(data.y)
    codes = np.unique(data.qid[kept], return_inverse=True)[1]
    columns = {name: data.X[name].to_numpy()[kept] for name in ("bm25", "dense", "cross")}
    return data.y[kept], codes, {n: np.nan_to_num(c, nan=-1e6) for n, c in columns.items()}


def judges(y, codes, words, rng):
    """Return the labels of five judges by name; ``words`` is the rank by BM25, from 0 to 1."""
    drawn = rng.random(len(y))
    lost = rng.beta(0.6, 2.4, codes.max() + 1)[codes]

    def errors(miss, false):
        return np.where(y > 0, drawn >= miss, drawn < false).astype(np.float64)

    return {
        "good": errors(0.15, 0.05),
        "lenient": errors(0.08, 0.25),
        "likes words": errors(0.10 + 0.15 * words, 0.03 + 0.37 * np.clip(1 - 2.5 * words, 0, 1)),
        "fails on some queries": errors(lost, 0.6 * lost),
        "poor": errors(0.35, 0.25),
    }


def questions(labels, codes, scores):
    """Return what is asked by name, a value for each query: a mean and three differences."""
    values = {name: METRIC.per_query(labels, column, codes) for name, column in scores.items()}
    return {
        "NDCG@10": values["cross"],
        "far apart": values["cross"] - values["dense"],
        "near copy": values["cross"] - values["copy"],
        "dense - BM25": values["dense"] - values["bm25"],
    }


def populations(y, codes, scores, seed=0):
    """Yield judge, question, and its values by people's labels and by the judge's."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(codes)
    order = np.lexsort((-scores["bm25"], codes))
    words = np.empty(len(codes))
    words[order] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    words /= sizes[codes] - 1
    # A near copy of the best, a little worse.
    scores = scores | {"copy": scores["cross"] + 1.5 * rng.normal(size=len(codes))}
    truth = questions(y, codes, scores)
    for judge, labels in judges(y, codes, words, rng).items():
        for question, values in questions(labels, codes, scores).items():
            yield judge, question, truth[question], values


def estimates(y, f, picks):
    """Return means and standard errors by the number of human queries and by method."""
    f_mean, found = f[picks].mean(axis=1), {}
    for n in HUMAN:
        few = picks[:, :n]
        people = y[few]
        regression = regression_estimate(people, f[few], f_mean, picks.shape[1])
        found[n] = {
            "people alone": (people.mean(axis=1), people.var(axis=1, ddof=1) / n, n - 1),
            "people and LLM": (*regression[:2], n - 2),
        }
    return found


def rows(world, y, codes, scores, repeats, seed=1):
    """Yield a row for each judge, question, number of human queries and method."""
    cells = [*populations(y, codes, scores)]
    rng, n_queries, drawn = np.random.default_rng(seed), codes.max() + 1, [[] for _ in cells]
    for start in range(0, repeats, _CHUNK):
        shape = min(_CHUNK, repeats - start), n_queries
        picks = np.argpartition(rng.random(shape, dtype=np.float32), N_LLM, axis=1)[:, :N_LLM]
        picks = rng.permuted(picks, axis=1)  # argpartition leaves an order
        for cell, (_, _, truth, values) in zip(drawn, cells, strict=True):
            cell.append(estimates(truth, values, picks))
    for cell, (judge, question, truth, values) in zip(drawn, cells, strict=True):
        about = {"world": world, "judge": judge, "question": question, "repeats": repeats}
        about |= {"truth": truth.mean(), "llm": values.mean()}
        about["correlation"] = np.corrcoef(truth, values)[0, 1]
        for n in HUMAN:
            spread = {}
            for method in ("people alone", "people and LLM"):
                parts = [each[n][method] for each in cell]
                mean, variance = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
                half = stats.t.ppf(0.975, parts[0][2]) * np.sqrt(variance)
                is_covered = np.abs(mean - truth.mean()) <= half
                spread[method] = mean.var()
                row = {"human": n, "method": method, "coverage": is_covered.mean()}
                row |= {"half": half.mean(), "bias": mean.mean() - truth.mean()}
                row["gain"] = spread["people alone"] / mean.var()
                yield about | row
        # The LLM alone: its interval over 1,000 queries, which holds the truth or does not.
        error = values.std(ddof=1) / np.sqrt(N_LLM)
        off = (values.mean() - truth.mean()) / error
        covered = stats.norm.cdf(1.96 - off) - stats.norm.cdf(-1.96 - off)
        yield about | {"human": 0, "method": "LLM alone", "coverage": covered, "half": 1.96 * error}


def documents(world, y, codes, scores, repeats, n_human=50, seed=2):
    """Yield rows for P@10: people judge whole queries, or as many documents of all queries."""
    order = np.lexsort((-scores["cross"], codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(codes)))
    tops = order[starts[sizes >= 10][:, None] + np.arange(10)]
    truth = y[tops].mean()
    words = np.empty(len(codes))
    by_words = np.lexsort((-scores["bm25"], codes))
    words[by_words] = np.arange(len(codes)) - np.repeat(starts, sizes)
    words /= np.maximum(sizes[codes] - 1, 1)
    for judge, labels in judges(y, codes, words, np.random.default_rng(0)).items():
        rng, found = np.random.default_rng(seed), {}
        for _ in range(repeats):
            drawn = tops[rng.choice(len(tops), N_LLM, replace=False)]
            human, llm = y[drawn], labels[drawn]
            few = np.where(np.arange(N_LLM) < n_human, human.mean(axis=1), np.nan)
            spread = np.full(drawn.size, np.nan)
            some = rng.choice(drawn.size, n_human * 10, replace=False)
            spread[some] = human.ravel()[some]
            qid = np.repeat(np.arange(N_LLM), 10)
            powered = {
                "by queries": prediction_powered(few, llm.mean(axis=1)),
                "by documents": prediction_powered(spread, llm.ravel(), qid=qid),
            }
            for unit, each in powered.items():
                is_covered = each.interval.low <= truth <= each.interval.high
                found.setdefault(f"people alone, {unit}", []).append((each.human_mean, np.nan))
                values = each.interval.estimate, is_covered
                found.setdefault(f"people and LLM, {unit}", []).append(values)
        spreads = {method: np.std([value for value, _ in each]) for method, each in found.items()}
        for method, each in found.items():
            about = {"world": world, "judge": judge, "question": "P@10", "repeats": repeats}
            gain = (spreads["people alone, by queries"] / spreads[method]) ** 2
            coverage = float(np.mean([is_covered for _, is_covered in each]))
            row = {"human": n_human, "method": method, "gain": gain, "deviation": spreads[method]}
            yield about | row | ({} if np.isnan(coverage) else {"coverage": coverage})
