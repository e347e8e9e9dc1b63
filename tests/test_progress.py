import contextlib
import io
import re
import sys
import time
import types

import pytest
from example_rankers import ranking_data
from numba import njit
from rich.console import Console

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees, show_progress
from treerank.baselines import AdaRank, ESRank, LambdaMART, PRank, RankBoost, RankNet
from treerank.progress import Progress, current_listener, ignore_progress, listening
from treerank.progress_bar import COMPILING, progress_bar

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
    written = capsys.readouterr().err.splitlines()
    text, sizes, *lines = [line for line in written if COMPILING not in line]
    assert text == "growing"
    assert "10 trees of 4 leaves" in sizes
    assert [line.split()[0] for line in lines] == ["2/10", "4/10", "6/10", "8/10", "10/10"]
    assert all(" ndcg@10 0." in line or " ndcg@10 1." in line for line in lines)


def terminal(width=100):
    return Console(file=io.StringIO(), force_terminal=True, width=width, soft_wrap=True)


def compile_something():
    njit(lambda x: x + 1)(1)


def frames(console):
    """Return what a terminal showed, one frame after the other."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue()))


def test_a_terminal_gets_a_bar_that_ends_full():
    console = terminal()
    with progress_bar("growing", console=console) as show:
        show(1, 4, "a note")
        show(3, 4, "[red]")
    last = [frame for frame in frames(console) if frame.strip()][-1]
    assert last.startswith("growing ")
    assert "3/4  [red]" in last


def test_a_bar_says_that_kernels_are_compiled_only_while_they_are(monkeypatch):
    console, tellers = terminal(), []

    @contextlib.contextmanager
    def noting(tell):
        tellers.append(tell)
        yield

    monkeypatch.setattr("treerank.progress_bar.while_compiling", noting)
    with progress_bar("fitting", console=console):
        tellers[0](True)
        time.sleep(0.5)  # the bar is drawn ten times a second
        tellers[0](False)
    shown = [frame for frame in frames(console) if frame.strip()]
    assert any(COMPILING in frame for frame in shown)
    assert COMPILING not in shown[-1]


def test_a_bar_of_work_that_fails_before_anything_is_compiled_says_nothing_of_it():
    console = terminal()
    with contextlib.suppress(ValueError), progress_bar("reading", console=console):
        raise ValueError
    assert "compil" not in console.file.getvalue()


def test_a_pipe_gets_one_line_on_compiling_where_something_is_compiled(capsys):
    with progress_bar("fitting") as show:
        compile_something()
        compile_something()
        show(1, 1, "")
    assert capsys.readouterr().err == f"fitting\n  {COMPILING}\n  1/1\n"
    with progress_bar("fitting") as show:
        show(1, 1, "")
    assert capsys.readouterr().err == "fitting\n  1/1\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_bar_keeps_its_width_beside_long_texts(width):
    console = terminal(width)
    with progress_bar("reading /data/shop/2026/11/searches/train.csv", console=console) as show:
        show(1, 2, {"ndcg@10": 0.5, "map": 0.25, "mean reciprocal rank at 10": 0.125})
        show(2, 2, {"ndcg@10": 0.5, "map": 0.25, "mean reciprocal rank at 10": 0.125})
    last = [frame for frame in frames(console) if frame.strip()][-1]
    assert last.count("━") == 20
    assert len(last.rstrip()) <= width
    assert last.startswith("reading")
    assert "train.csv" in last or width < 80


def test_nothing_is_left_of_brief_work_on_a_terminal():
    console = terminal()
    with progress_bar("reading", console=console, brief=True):
        pass
    assert console.file.getvalue().rstrip().endswith("\x1b[2K")  # the line is erased


def test_work_without_steps_has_a_name_only(capsys):
    with progress_bar("reading"):
        pass
    assert capsys.readouterr().err == "reading\n"


class Handle:
    """What ``IPython.display.display`` returns: it notes what one place of a notebook shows."""

    def __init__(self, shown):
        self.shown = shown

    def update(self, content, *, raw):
        assert raw
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch):
    """A console of rich in a notebook; returns the states of each place, in order."""
    places = []

    def display(content, *, raw, display_id):
        assert raw
        assert display_id is True
        places.append([content])
        return Handle(places[-1])

    module = types.ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    console = Console(force_jupyter=True, file=io.StringIO())
    monkeypatch.setattr("treerank.progress_bar.make_console", lambda: console)
    return places


def test_a_notebook_has_one_line_that_updates(notebook, monkeypatch):
    monkeypatch.setattr("treerank.progress_bar._LEAST_SECONDS", -1)
    with show_progress("growing <b>"):
        RANKERS["LightGBM"](3).fit(*DATA, eval_set=HELD_OUT)
    (states,) = notebook
    texts = [state["text/plain"] for state in states]
    for n_done, text in enumerate(texts, start=0):
        assert text.startswith("growing <b>"), n_done
        assert "\n" not in text
    assert any("2/3  ndcg@10 " in text for text in texts)
    assert "3/3  ndcg@10 " in texts[-1]
    assert "of 3 trees are kept" in texts[-1]
    assert all("<b>" not in state["text/html"] for state in states)
    assert states[-1]["text/html"].startswith("<code>growing &lt;b&gt;  3/3")


def test_a_line_of_a_notebook_is_not_updated_more_than_ten_times_a_second(notebook):
    with show_progress("fast"):
        for n_done in range(1, 1001):
            current_listener()(n_done, 1000, {})
    (states,) = notebook
    assert len(states) < 20
    assert states[-1]["text/plain"].startswith("fast  1000/1000  ")


def test_brief_work_leaves_nothing_in_a_notebook(notebook):
    with progress_bar("reading", Console(force_jupyter=True, file=io.StringIO()), brief=True):
        pass
    assert [states[-1] for states in notebook] == [{"text/plain": "", "text/html": ""}]
