"""A ranker knows queries of which other documents were trained on, and has few false alarms."""

import warnings
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
)

from treerank import (
    LightGBMTrees,
    QueryKFold,
    TreeDirectRanker,
    load,
    make_web_search,
)
from treerank.datasets import Batches
from treerank.documents import training_queries
from treerank.documents.ids import hashes_of, ids_of_queries
from treerank.documents.queries import QueryGroups
from treerank.documents.training_queries import (
    QueryOverlap,
    TrainingQueries,
    overlap_with_training,
)
from treerank.rankers import NestedRanker, StreamingRanker

pytestmark = pytest.mark.usefixtures("one_thread")

X, Y, QID = make_web_search(60, documents_per_query=20, n_features=8, random_state=0)
OTHERS = make_web_search(60, documents_per_query=12, n_features=8, random_state=1)
RANKER = TreeDirectRanker(LightGBMTrees(3, n_jobs=1), random_state=0)
COLORS = ["red", "blue", "green", "black", "white", "gray", "pink", "brown", "beige", "violet"]
THINGS = ["shoes 42", "hats", "coats", "socks", "gloves", "3 shirts"]
WORDS = np.array([f"{color} {thing}" for color in COLORS for thing in THINGS])
#: How the ids of queries 0 to 59 are spelled.
SPELLED = {
    "from 0": QID,
    "from 1": QID + 1,
    "float": QID.astype(float),
    "text of numbers": QID.astype(str),
    "prefix": np.char.add("q", QID.astype(str)),
    "padded": np.array([f"session-{number:04d}" for number in QID], dtype=object),
    "text of floats": QID.astype(float).astype(str),
    "year": np.char.add("2024-", QID.astype(str)),
    "shop": np.array([f"shop-{number:03d}-de" for number in QID]),
    "user": np.array([f"user_7_{number}_s" for number in QID]),
    "bytes of numbers": np.char.encode(np.char.add("q", QID.astype(str))),
    "apart, as in LETOR": 15 * QID + 1,
    "large": QID * 7919**2 % 10**9 + 17,
    "words": WORDS[QID],
    "bytes": np.char.encode(WORDS[QID]),
    "dates": np.datetime64("2026-01-01") + QID,
}
TEXT = {"words", "bytes"}
SPLITS = {
    "KFold(5, shuffle)": KFold(5, shuffle=True, random_state=0),
    "KFold(10, shuffle)": KFold(10, shuffle=True, random_state=0),
    "KFold(3)": KFold(3),
    "StratifiedKFold(4)": StratifiedKFold(4, shuffle=True, random_state=0),
}
#: Spellings of text in which one number alone differs.
COUNTED = [
    *("text of numbers", "prefix", "padded", "text of floats"),
    *("year", "shop", "user", "bytes of numbers"),
]
every_spelling = pytest.mark.parametrize("qid", SPELLED.values(), ids=SPELLED)
CUT = r"(\d+) of (\d+) queries were trained on with other documents"


def remembered(qid, hashes):
    groups = QueryGroups.from_qid(qid)
    ids = hashes_of(ids_of_queries(qid, groups))
    return TrainingQueries.of(ids, hashes, groups).smallest()


def rows_of(qid, seed=0):
    return np.random.default_rng(seed).integers(1, 2**63, len(qid)).astype(np.uint64)


@pytest.mark.parametrize("cv", SPLITS.values(), ids=SPLITS)
@every_spelling
def test_queries_that_a_splitter_of_rows_cuts_are_recognized(qid, cv):
    rows = rows_of(QID)
    for train, test in cv.split(X, Y):
        overlap = remembered(qid[train], rows[train]).look_up(rows[test], None, qid[test])
        assert overlap.n_cut > 0, overlap
        assert overlap.n_same == 0 or cv is SPLITS["KFold(3)"]


@every_spelling
def test_whole_queries_are_not(qid):
    rows = rows_of(QID)
    for train, test in QueryKFold(3).split(X, Y, QID):
        overlap = remembered(qid[train], rows[train]).look_up(rows[test], None, qid[test])
        assert overlap == QueryOverlap(20, 0, 0)


@pytest.mark.parametrize("n_tests", [10, 12, 60, 200])
@pytest.mark.parametrize("size", [1, 8, 12, 20, 30])
@pytest.mark.parametrize(
    "spelling",
    ["from 0", "from 1", *COUNTED],
)
def test_a_test_set_that_counts_its_queries_anew_is_not_taken_for_the_same(spelling, size, n_tests):
    known = remembered(SPELLED[spelling], rows_of(QID))
    numbers = np.repeat(np.arange(n_tests), size)
    spelled = {
        "from 0": numbers,
        "from 1": numbers + 1,
        "text of numbers": numbers.astype(str),
        "prefix": np.char.add("q", numbers.astype(str)),
        "padded": np.array([f"session-{number:04d}" for number in numbers], dtype=object),
        "text of floats": numbers.astype(float).astype(str),
        "year": np.char.add("2024-", numbers.astype(str)),
        "shop": np.array([f"shop-{number:03d}-de" for number in numbers]),
        "user": np.array([f"user_7_{number}_s" for number in numbers]),
        "bytes of numbers": np.char.encode(np.char.add("q", numbers.astype(str))),
    }
    qid = spelled[spelling]
    overlap = known.look_up(rows_of(numbers, seed=1), None, qid)
    assert (overlap.n_same, overlap.n_cut) == (0, 0)
    some = numbers >= n_tests // 2  # a part of such a file
    assert known.look_up(rows_of(numbers, seed=1)[some], None, qid[some]).n_cut == 0
    one = numbers == 7  # and a single query
    assert known.look_up(rows_of(numbers, seed=1)[one], None, qid[one]).n_cut == 0


@pytest.mark.parametrize("sizes", ["fixed", "uniform", "Poisson", "lognormal"])
@pytest.mark.parametrize("of_tests", ["fixed", "uniform", "Poisson", "lognormal"])
def test_lists_of_any_lengths_under_the_same_numbers_are_no_cut(sizes, of_tests):
    rng = np.random.default_rng(0)
    draw = {
        "fixed": lambda mean: np.full(60, mean),
        "uniform": lambda mean: rng.integers(mean // 2, 3 * mean // 2 + 1, 60),
        "Poisson": lambda mean: np.maximum(rng.poisson(mean, 60), 1),
        "lognormal": lambda mean: 1 + (mean * rng.lognormal(size=60)).astype(int),
    }
    for longer, shorter in ((20, 10), (40, 10), (20, 20), (100, 50)):
        qid = np.repeat(np.arange(60), draw[sizes](longer))
        other = np.repeat(np.arange(60), draw[of_tests](shorter))
        overlap = remembered(qid, rows_of(qid)).look_up(rows_of(other, seed=1), None, other)
        assert overlap.n_cut == 0


def test_the_next_queries_are_not_known_but_one_that_comes_back_with_other_documents_is():
    ranker = clone(RANKER).fit(X, Y, WORDS[QID])
    new = np.char.add("new ", WORDS)
    X_new, y_new, q_new = OTHERS
    assert overlap_with_training(ranker, X_new, y_new, new[q_new]) == QueryOverlap(60, 0, 0)
    some = np.where(q_new < 20, WORDS[q_new], new[q_new])
    assert overlap_with_training(ranker, X_new, y_new, some) == QueryOverlap(60, 0, 20)
    assert overlap_with_training(ranker, X, Y, QID) == QueryOverlap(60, 60, 0)
    half = QID < 30
    assert overlap_with_training(ranker, X[half], qid=QID[half]) == QueryOverlap(30, 30, 0)


def test_what_is_remembered_depends_on_content_alone_and_is_saved(tmp_path):
    ranker = clone(RANKER).fit(X, Y, QID)
    shuffled = np.random.default_rng(0).permutation(len(Y))
    again = clone(RANKER).fit(X[shuffled], Y[shuffled], QID[shuffled].astype(float))
    ranker.save(tmp_path / "a")
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded = load(tmp_path / "a").training_queries_.as_state()
    for name, values in ranker.training_queries_.as_state().items():
        np.testing.assert_array_equal(loaded[name], values, strict=True)
    batches = Batches([(X[:500], Y[:500], QID[:500]), (X[500:], Y[500:], QID[500:])])
    assert ranker.score(batches) == ranker.score(X, Y, QID)
    for broken in ({"ids": loaded["ids"][::-1]}, {"sizes": loaded["sizes"][:-1]}, {"ids": None}):
        with pytest.raises(ValueError, match=r"ids|sizes"):
            TrainingQueries.of_state(loaded | broken)


def test_fits_to_clicks_remember_nothing_and_stages_of_a_nested_ranker_do_not_either():
    position = np.arange(len(Y)) % 10 + 1
    clicked = Y > 0
    with warnings.catch_warnings(action="ignore"):  # of few rankings
        ranker = clone(RANKER).fit(X, clicked, QID, position=position)
    assert ranker.training_queries_ is None
    nested = NestedRanker(clone(RANKER), sizes=(8,), random_state=0).fit(X, Y, QID)
    assert len(nested.training_queries_.ids) == 60
    assert [each.training_queries_ for each in nested.rankers_] == [None] * len(nested.rankers_)


def test_a_fit_that_goes_on_remembers_the_queries_of_both():
    stream = StreamingRanker(random_state=0)
    for batch in range(3):
        rows = QID // 20 == batch
        stream.partial_fit(X[rows], Y[rows], WORDS[QID[rows]])
    assert overlap_with_training(stream, X, Y, WORDS[QID]) == QueryOverlap(60, 60, 0)
    more = TreeDirectRanker(LightGBMTrees(2), warm_start=True).fit(X, Y, WORDS[QID])
    more.set_params(feature_part__n_estimators=3).fit(X, Y, WORDS[QID])
    assert len(more.training_queries_.ids) == 60
    some = QID < 30
    anew = more.set_params(warm_start=False).fit(X[some], Y[some], QID[some])
    assert len(anew.training_queries_.ids) == 30


def test_of_many_queries_a_sample_is_remembered_and_looked_up(monkeypatch):
    monkeypatch.setattr(training_queries, "MOST_REMEMBERED", 25)
    rows = rows_of(QID)
    for qid in (QID, WORDS[QID]):
        train, test = next(KFold(5, shuffle=True, random_state=0).split(X))
        known = remembered(qid[train], rows[train])
        assert len(known.ids) == 25
        overlap = known.look_up(rows[test], None, qid[test])
        assert 20 <= overlap.n_cut <= overlap.n_queries <= 30
        assert known.look_up(rows_of(QID, seed=3), None, qid).n_cut == (0 if qid is QID else 25)


def test_lists_of_the_same_items_for_all_users_are_no_copies():
    rows = np.tile(rows_of(np.arange(10)), 20)
    users = np.repeat(np.arange(20), 10)
    known = remembered(users, rows)
    assert known.look_up(rows, None, users).n_same == 20
    assert known.look_up(rows, None, users + 20) == QueryOverlap(20, 0, 0)


def test_few_numbers_that_two_sets_share_by_chance_are_no_cut():
    known = remembered(np.repeat([25, 47, 60, 75, 90], 40), rows_of(np.zeros(200)))
    others = np.repeat(np.arange(1, 51), 10)
    assert known.look_up(rows_of(others, seed=1), None, others).n_cut == 0
    rng = np.random.default_rng(0)
    users, later = (np.repeat(rng.permutation(5000)[:500], 5) for _ in range(2))
    overlap = remembered(users, rows_of(users)).look_up(rows_of(later, seed=1), None, later)
    assert len(np.intersect1d(users, later)) > 30
    assert overlap.n_cut == 0


def test_lists_of_one_length_that_are_cut_are_recognized_and_halves_of_numbered_ones_are_not():
    qid = np.repeat(np.arange(60), 20)
    rows = rows_of(qid)
    for n_splits, is_known in ((5, True), (2, False)):
        for train, test in KFold(n_splits, shuffle=True, random_state=0).split(qid):
            known = remembered(qid[train], rows[train])
            assert (known.look_up(rows[test], None, qid[test]).n_cut > 0) == is_known
    for train, test in KFold(2, shuffle=True, random_state=0).split(X):
        known = remembered(QID[train], rows_of(QID)[train])
        assert known.look_up(rows_of(QID)[test], None, QID[test]).n_cut == 0


def test_text_that_is_a_number_in_no_one_form_is_no_word_either():
    numbers = [str(n if n % 2 else -n / 4) for n in range(60)]  # "-0.0", "1", "-0.5", "3", ...
    qid = np.repeat(numbers, 20)
    known = remembered(qid, rows_of(qid))
    other = np.repeat(numbers, 8)
    assert known.look_up(rows_of(other, seed=1), None, other).n_cut == 0


def test_dates_with_a_time_zone_are_read_without_a_warning():
    naive = [datetime(2026, 1, 1, 12) + timedelta(days=n) for n in range(3)]
    zone = timezone(timedelta(hours=-5))
    aware = [each.replace(tzinfo=UTC).astimezone(zone) for each in naive]
    with warnings.catch_warnings(action="error"):
        hashes = hashes_of(aware)
        np.testing.assert_array_equal(hashes_of(pd.DatetimeIndex(aware)), hashes)
    np.testing.assert_array_equal(hashes, hashes_of(naive))


def test_a_part_of_the_documents_of_a_query_is_recognized_whatever_its_id():
    rows, some = rows_of(QID), np.random.default_rng(5).random(len(QID)) < 0.5
    for qid in (QID, WORDS[QID], np.char.add("q", QID.astype(str))):
        known = remembered(qid[some], rows[some])
        overlap = known.look_up(rows, np.where(some, np.nan, Y), qid)  # the labels are of others
        both = np.intersect1d(qid[some], qid[~some])
        assert (overlap.n_same, overlap.n_shared) == (0, len(both))
        assert len(both) > 55
        backwards = remembered(qid, rows).look_up(rows[some], None, qid[some])
        assert 15 <= backwards.n_shared <= 45  # as likely as the first document is among them
        assert known.look_up(rows_of(QID, seed=4), None, qid).n_shared == 0
        assert known.look_up(rows, None, np.char.add("other ", QID.astype(str))).n_shared == 0


def test_documents_that_many_queries_have_are_no_sign_of_a_query():
    rows = np.tile(rows_of(np.arange(10)), 20)  # the same items for all users
    users = np.repeat(np.arange(20), 10)
    some = np.random.default_rng(0).random(200) < 0.8
    known = remembered(users[some], rows[some])
    assert known.look_up(rows, None, users).n_shared <= 3


def test_files_of_older_versions_lack_the_first_documents():
    state = remembered(QID, rows_of(QID)).as_state()
    old = TrainingQueries.of_state({n: v for n, v in state.items() if n != "first"})
    overlap = old.look_up(rows_of(QID)[::2], None, QID[::2])
    assert (overlap.n_same, overlap.n_shared) == (0, 0)
    assert old.look_up(rows_of(QID), None, QID).n_same == 60


def numbered(numbers, sizes):
    """Return training queries of whole numbers as ids, whose documents no other query has."""
    qid = np.repeat(numbers, sizes)
    return remembered(qid, rows_of(qid))


def looks_like_a_random_split(trained, tested):
    """Say so in plain Python of sizes by number of the query: the rule of the notes of overlap."""
    numbers = sorted(trained.keys() | tested.keys())
    n_trained, n_tested = sum(trained.values()), sum(tested.values())
    if len(numbers) < 10 or n_tested > 0.75 * n_trained:
        return False
    share, deviations = n_tested / (n_tested + n_trained), []
    for number in numbers:
        n, k = trained.get(number, 0) + tested.get(number, 0), tested.get(number, 0)
        deviations.append((k - share * n) ** 2 / (share * (1 - share) * n))
    mean, margin = np.mean(deviations), max(0.35, 3 * np.sqrt(2 / len(numbers)))
    if not max(0.3, 1 - margin) < mean < min(2, 1 + margin):
        return False
    pairs = [[tested.get(n, 0), trained.get(n, 0)] for n in numbers]
    if 0 in np.std(pairs, axis=0):
        return False
    correlation = np.corrcoef(np.transpose(pairs))[0, 1]
    return abs(correlation) * np.sqrt(len(numbers)) > 2.5


def random_sizes(rng):
    """Return sizes of training and test queries by number: split rows, or drawn anew, or both."""
    n = int(rng.choice([6, 9, 10, 11, 16, 40, 150]))
    rows = rng.integers(2, 40, n)
    tested = rng.binomial(rows, rng.choice([0.2, 0.4, 0.42, 0.43, 0.45]))
    if rng.random() < 0.6:  # more or less alike than a split
        noise = rng.normal(scale=rng.choice([0.2, 0.5, 1, 2]), size=n)
        tested = np.clip(np.round(rng.choice([0.2, 0.4]) * rows + noise), 0, rows - 1).astype(int)
    if rng.random() < 0.4:
        tested = rng.permutation(tested)
    trained = np.maximum(rows - tested, 0)
    return ({i: int(k) for i, k in enumerate(column) if k > 0} for column in (trained, tested))


def test_sizes_look_like_a_random_split_as_plain_python_says():
    rng, said = np.random.default_rng(0), []
    cases = [tuple(random_sizes(rng)) for _ in range(1500)]
    ten = {n: 20 + 3 * n for n in range(10)}
    cases += [
        ({n: 4 * k for n, k in ten.items()}, {n: 3 * k + d for n, k in ten.items()})
        for d in (0, 1, -1)
    ]  # exactly 3/4 of the training rows, and about as many
    for trained, tested in cases:
        if not trained or not tested:
            continue
        known = numbered(list(trained), list(trained.values()))
        hashes, sizes = hashes_of(tested), np.array([*tested.values()], dtype=np.int32)
        expected = looks_like_a_random_split(trained, tested)
        assert known._are_cut_at_random(hashes, sizes) == expected
        said.append(expected)
    assert 0.1 < np.mean(said) < 0.9


def exceeds_chance(trained, tested):
    """Say in plain Python whether more test ids are in training than its density explains."""
    low, high = min(tested), max(tested)
    both = set(trained) & set(tested)
    within = [n for n in range(low, high + 1) if n in set(trained)]
    if len(within) == len(both) and set(within) <= {low, high}:
        return True
    by_chance = len(tested) * len(within) / (high - low + 1)
    return len(both) > 2 * by_chance and (len(both) > 2 or by_chance < 0.1)


def test_ids_meet_more_often_than_chance_explains_as_plain_python_says():
    rng, said = np.random.default_rng(0), []
    for _ in range(1500):
        width, n_trained = rng.choice([8, 40, 300]), rng.integers(1, 12)
        trained = rng.permutation(width)[:n_trained].tolist()
        some = rng.permutation(trained)[: rng.integers(0, 5)].tolist()
        other = rng.permutation(width)[: rng.integers(1, 8)].tolist()
        tested = sorted({*some, *other})
        known = numbered(trained, [3] * len(trained))
        n_both = len({*trained} & {*tested})
        expected = exceeds_chance(trained, tested)
        found = known._exceed_chance(tested, int, n_both)
        assert found == expected, (trained, tested)
        said.append(expected)
    assert 0.1 < np.mean(said) < 0.9


@pytest.mark.parametrize(
    ("value", "expected"),
    [("ab", True), ("abc", False), ("1.5", True), ("-17", True), ("", True), (12, False)],
)
def test_short_text_and_numbers_may_be_of_two_queries(value, expected):
    assert training_queries._may_be_of_two_queries(value) is expected


@pytest.mark.parametrize(
    ("ids", "numbers"),
    [
        (["a1-1", "a2-1"], [1, 2]),
        (["a1-1", "a2-2"], None),  # two runs of digits differ
        (["a1", "b1"], None),  # text differs
        (["a1", "b2"], None),
        (["a1", "a1-1"], None),
        (["a7b5"], [5]),  # of a single id, the last run
        (["q"], None),
        ([1, 2.0], [1, 2]),
        ([1, 2.5], None),
        ([1, "2"], None),
        ([b"q1", b"q2"], [1, 2]),
    ],
)
def test_ids_are_numbered_if_one_run_of_digits_differs(ids, numbers):
    found = training_queries._numbering(ids)
    assert (found if found is None else found[0]) == numbers
    if numbers is not None:
        assert [found[1](number) for number in numbers] == ids


def test_two_rows_without_ids_may_be_of_a_query_of_fit_and_one_is_a_document_to_score():
    known = remembered_without_ids(rows_of(np.zeros(5)))
    for n, expected in ((1, False), (2, True)):
        assert known.look_up(rows_of(np.zeros(n), seed=1), None, None).without_ids is expected
    assert not known.look_up(rows_of(np.zeros(5)), None, None).without_ids  # the same query


def remembered_without_ids(hashes):
    return TrainingQueries.of(
        hashes_of([None]), hashes, QueryGroups.from_qid(None, len(hashes))
    ).smallest()


@pytest.mark.parametrize("n_words", [1, 2])
def test_a_few_words_are_the_same_query(n_words):
    words = np.array(["red hats", "blue coats"])
    known = remembered(words, rows_of(words))
    overlap = known.look_up(rows_of(words, seed=1)[:n_words], None, words[:n_words])
    assert overlap.n_cut == n_words


@pytest.mark.parametrize(("n_same", "n_cut"), [(2, 3), (3, 0), (4, 0)])
def test_queries_are_cut_only_if_more_have_other_documents_than_the_same(n_same, n_cut):
    rows = rows_of(QID)
    known = remembered(WORDS[QID], rows)
    some = np.isin(QID, np.arange(n_same + 3))
    tested = np.where(QID < n_same, rows, rows_of(QID, seed=1))[some]
    overlap = known.look_up(tested, None, WORDS[QID][some])
    assert (overlap.n_same, overlap.n_cut) == (n_same, n_cut)


@pytest.mark.parametrize(("n_copies", "is_warned"), [(3, False), (4, True)])
def test_an_eval_set_of_which_more_than_half_is_in_training_is_warned_of(n_copies, is_warned):
    y, rows = np.arange(12) % 2.0, rows_of(np.arange(12))
    groups = QueryGroups.from_qid(np.arange(12) // 2)
    own = training_queries.hashes_of_queries(training_queries.with_columns(rows, 4, y), groups)[0]
    with warnings.catch_warnings(record=True, action="always") as caught:
        training_queries.warn_of_copied_queries(own[:n_copies], rows, y, groups, 4)
    said = f"{n_copies} of 6 queries of eval_set are in the training set, too: hold others out."
    assert [str(warning.message) for warning in caught] == ([said] if is_warned else [])


def test_a_query_without_judged_documents_has_no_first():
    rows, groups = np.arange(1, 6, dtype=np.uint64), QueryGroups.from_qid([0, 0, 1, 1, 1])
    ids = np.array([7, 8], dtype=np.uint64)
    judged = np.array([False, True, False, False, False])
    assert TrainingQueries.of(ids, rows, groups).first.tolist() == [1, 3]
    queries = TrainingQueries.of(ids, rows, groups, judged)
    assert (queries.first.tolist(), queries.sizes.tolist()) == ([2, 0], [1, 0])
