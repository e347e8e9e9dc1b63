import io

import pytest
from example_rankers import ranking_data
from rich.console import Console

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees, show_progress
from treerank.baselines import AdaRank, ESRank, LambdaMART, PRank, RankBoost, RankNet
from treerank.progress import Progress, current_listener, ignore_progress, listening
from treerank.progress_bar import FIRST, progress_bar

DATA = ranking_data()
HELD_OUT = 2 * DATA[0], *DATA[1:]
RANKERS = {
    "LightGBM": lambda n: TreeDirectRanker(LightGBMTrees(n), random_state=0),
    "XGBoost": lambda n: TreeDirectRanker(XGBoostTrees(n), random_state=0),
    "LambdaMART": lambda n: LambdaMART(n, random_state=0),
    "RankNet": lambda n: RankNet(n_epochs=n, random_state=0),
    "RankBoost": lambda n: RankBoost(n_estimators=n),
    "AdaRank": lambda n: AdaRank(n_estimators=n),
    "ES-Rank": lambda n: ESRank(n_generations=n, random_state=1),
    "PRank": lambda n: PRank(n_epochs=n, early_stopping_rounds=3, random_state=0),
}


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("watched", [False, True], ids=["alone", "with an eval_set"])
def test_a_listener_gets_each_iteration_the_total_and_the_last_value(name, watched):
    told = []
    ranker = RANKERS[name](3)
    with listening(lambda *what: told.append(what)):
        ranker.fit(*DATA, eval_set=HELD_OUT if watched else None)
    assert [done for done, _, _ in told] == [1, 2, 3]
    assert {total for _, total, _ in told} == {3}
    if watched:
        values = ranker.evals_result_["validation"]["ndcg@10"]
        assert told[-1][2] == ({"ndcg@10": values[-1]} if values else {})


@pytest.mark.parametrize("name", RANKERS)
def test_a_callback_gets_the_values_and_ends_the_fit(name):
    told = []

    def stop(n_done, n_total, values):
        told.append(values)
        return n_done == 2

    ranker = RANKERS[name](4).fit(*DATA, eval_set=HELD_OUT, callbacks=[stop, lambda *_: None])
    assert len(told) == 2
    assert len(ranker.evals_result_["validation"]["ndcg@10"]) in (1, 2)
    assert RANKERS[name](4).fit(*DATA, eval_set=HELD_OUT, callbacks=[]).evals_result_


def too_late(*_):
    pytest.fail("training began")


@pytest.mark.parametrize(
    ("callbacks", "metric", "message"),
    [
        (print, "map", "callbacks must be a list of functions; got"),
        ([print, 3], "map", "callbacks must be a list of functions; got"),
        ("print", "map", "callbacks must be a list of functions; got"),
        ([too_late, lambda n: None], "map", r"callbacks\[1\] must .*\(n_done, n_total, note\);"),
        ([too_late], lambda y, scores: 0.5, r"metric must .*\(y, scores, qid\); .*\(y, scores\)"),
    ],
)
def test_functions_of_other_arguments_are_refused_before_training(callbacks, metric, message):
    ranker = RANKERS["LightGBM"](2).set_params(metric=metric)
    with pytest.raises(TypeError, match=message):
        ranker.fit(*DATA, eval_set=HELD_OUT, callbacks=callbacks)


def test_listeners_of_other_arguments_are_refused():
    with pytest.raises(TypeError, match="listener must be a func"), listening(lambda n: None):
        too_late()
    with pytest.raises(TypeError, match=r"metric must be a function of \(scores\)"):
        Progress(lambda y, scores, qid: 0.5, None)


def test_a_continued_fit_counts_on():
    told = []
    part = LightGBMTrees(2, warm_start=True)
    ranker = TreeDirectRanker(part, warm_start=True).fit(*DATA)
    with listening(lambda done, total, _: told.append((done, total))):
        ranker.set_params(feature_part__n_estimators=4).fit(*DATA)
    assert told == [(3, 4), (4, 4)]


def test_no_listener_is_set_before_after_and_after_an_error():
    assert current_listener() is ignore_progress
    with pytest.raises(ZeroDivisionError), listening(too_late):
        1 / (current_listener() is ignore_progress)
    Progress(None, None).record(2)


def test_only_the_innermost_listener_is_called():
    outer, inner = [], []
    with listening(lambda *what: outer.append(what)):
        with listening(lambda *what: inner.append(what)):
            Progress(None, None, total=9).record(1)
        Progress(None, None).record(2)
    assert (inner, outer) == ([(1, 9, {})], [(2, None, {})])


def test_a_pipe_gets_five_lines_and_the_metric(capsys):
    with show_progress("growing"):
        trees = LightGBMTrees(10, early_stopping_rounds=None)
        TreeDirectRanker(trees, random_state=0).fit(*DATA, eval_set=HELD_OUT)
    text, sizes, *lines = capsys.readouterr().err.splitlines()
    assert text == "growing"
    assert "10 trees of 4 leaves" in sizes
    assert [line.split()[0] for line in lines] == ["2/10", "4/10", "6/10", "8/10", "10/10"]
    assert all(" ndcg@10 0." in line or " ndcg@10 1." in line for line in lines)


def test_a_terminal_gets_a_bar_that_says_first_why_it_may_take_long_and_ends_full():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress_bar("growing", console=console) as show:
        show(1, 4, "a note")
        show(3, 4, "[red]")
    before, told, after = console.file.getvalue().partition("a note")
    assert "growing" in before + after
    assert FIRST in before or not told
    assert FIRST not in after
    assert "3/4  [red]" in before + after


def test_work_without_steps_has_a_name_only(capsys):
    with progress_bar("reading"):
        pass
    assert capsys.readouterr().err == "reading\n"
