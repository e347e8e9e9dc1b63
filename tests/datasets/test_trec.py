import gzip
from codecs import BOM_UTF8

import ir_measures
import numpy as np
import pandas as pd
import pytest

from treerank import NDCG, get_metric
from treerank.datasets import read_trec_qrels, read_trec_run, write_letor, write_trec_run

RNG = np.random.default_rng(0)
QID, DOCUMENTS = np.repeat([2, 10], 30), [f"d{i}" for i in range(60)]
SCORES, Y = RNG.permutation(60) / 7, RNG.integers(0, 3, 60)
RUN = {"scores": SCORES, "qid": QID, "doc_ids": DOCUMENTS}
QRELS = [f"{q} 0 {name} {y}\n" for q, name, y in zip(QID, DOCUMENTS, Y, strict=True)]


@pytest.mark.parametrize("suffix", ["txt", "gz"])
def test_files_are_read_as_they_were_written(tmp_path, suffix):
    run, qrels = tmp_path / f"run.{suffix}", tmp_path / f"qrels.{suffix}"
    write_trec_run(run, **RUN)
    open_by_name = gzip.open if suffix == "gz" else open
    with open_by_name(qrels, "wt") as file:
        file.writelines(QRELS)
    found = read_trec_run(run)
    order = np.lexsort((-SCORES, QID))
    np.testing.assert_array_equal(found.qid, QID[order].astype(str))
    np.testing.assert_array_equal(found.doc_ids, np.array(DOCUMENTS)[order])
    np.testing.assert_array_equal(found.scores, SCORES[order])
    judged = read_trec_qrels(qrels)
    np.testing.assert_array_equal(judged.labels_of(found.qid, found.doc_ids), Y[order])
    np.testing.assert_array_equal(judged.labels_of(["2"], ["d30"], unjudged=-1), [-1])


def test_ir_measures_reads_them_and_agrees(tmp_path):
    write_trec_run(tmp_path / "run", **RUN)
    (tmp_path / "qrels").write_text("".join(QRELS))
    theirs = ir_measures.calc_aggregate(
        [ir_measures.nDCG @ 10, ir_measures.AP],
        [*ir_measures.read_trec_qrels(str(tmp_path / "qrels"))],
        [*ir_measures.read_trec_run(str(tmp_path / "run"))],
    )
    run = read_trec_run(tmp_path / "run")
    y = read_trec_qrels(tmp_path / "qrels").labels_of(run.qid, run.doc_ids)
    linear = NDCG(k=10, gain="linear")
    np.testing.assert_allclose(linear(y, run.scores, run.qid), theirs[ir_measures.nDCG @ 10])
    average = get_metric("map")(y, run.scores, run.qid)
    np.testing.assert_allclose(average, theirs[ir_measures.AP])


def test_ranks_begin_with_1_and_neither_a_mark_of_utf8_nor_empty_lines_are_queries(tmp_path):
    write_trec_run(
        tmp_path / "run", scores=[1, 3, 2], qid=[1.0, 1, 0], doc_ids=[*"abc"], tag="mine"
    )
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == ["0 Q0 c 1 2.0 mine", "1 Q0 b 1 3.0 mine", "1 Q0 a 2 1.0 mine"]
    (tmp_path / "run").write_bytes(BOM_UTF8 + b"q Q0 d 1 1 t\n\nq Q0 e 2 0 t\n")
    assert read_trec_run(tmp_path / "run").qid.tolist() == ["q", "q"]
    (tmp_path / "run").write_text("\n")
    assert [len(column) for column in read_trec_run(tmp_path / "run")] == [0, 0, 0]


@pytest.mark.parametrize("as_ids", [np.array, lambda ids: np.array(ids, dtype=object)])
def test_ids_of_bytes_are_written_as_text(tmp_path, as_ids):
    qid, doc_ids = as_ids([b"q"]), as_ids(["\u00e9".encode()])
    write_trec_run(tmp_path / "run", scores=[1], qid=qid, doc_ids=doc_ids)
    assert (tmp_path / "run").read_text() == "q Q0 \u00e9 1 1.0 treerank\n"
    write_letor(tmp_path / "letor", [[1.0]], [1], qid)
    assert (tmp_path / "letor").read_text().startswith("1 qid:q ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 d 1 0.5", "must have 6 fields; got 'q Q0 d 1 0.5'"),
        ("q Q0 e 1 x t", "must have a number; got 'x'"),
        ("q Q0 e 1 1_0 t", "must have a number; got '1_0'"),
        ("\xe9 Q0 e 1 1 t", r"UTF-8, as `iconv -f latin1 -t utf-8` makes it; got b'\\xe9 Q0"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    text = f"q Q0 d 1 1 t\n{line}\n".encode("latin-1")
    (tmp_path / "run").write_bytes(gzip.compress(text))
    with pytest.raises(ValueError, match=f"run:2: .*{message}"):
        read_trec_run(tmp_path / "run")


def test_a_list_that_holds_a_document_twice_is_refused_and_qrels_may_have_several_judges(tmp_path):
    (tmp_path / "run").write_text("q Q0 d 1 2 t\np Q0 d 1 2 t\nq Q0 d 2 1 t\n")
    with pytest.raises(ValueError, match=r"run: a document must occur once .*; got 'd' twice"):
        read_trec_run(tmp_path / "run")
    (tmp_path / "qrels").write_text("q 0 d 1\nq 0 d 2\n")
    assert read_trec_qrels(tmp_path / "qrels").y.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"doc_ids": ["a b"]}, "doc_ids must be words without spaces or NUL; got 'a b'"),
        ({"doc_ids": ["a\0"]}, r"doc_ids must be words without spaces or NUL; got 'a\\x00'"),
        ({"tag": " "}, "tag must be words without spaces or NUL; got ' '"),
        ({"doc_ids": [b"\xe9"]}, r"doc_ids must be text in UTF-8; got b'\\xe9'"),
        ({"qid": ["\udce9"]}, r"qid must be text in UTF-8; got '\\udce9'"),
        ({"tag": (1, 2)}, r"tag must be words without spaces or NUL; got array\(\[1, 2\]"),
        ({"tag": ""}, "tag must be words without spaces or NUL; got ''"),
        ({"qid": ["q", "p"]}, "qid must have one entry per row"),
    ],
)
def test_what_lines_cannot_hold_is_refused(tmp_path, columns, message):
    with pytest.raises(ValueError, match=message):
        write_trec_run(tmp_path / "f", **{"scores": [1], "qid": ["q"], "doc_ids": ["a"]} | columns)


def test_columns_of_a_run_have_one_order_of_rows(tmp_path):
    frame = pd.DataFrame({"qid": ["q"] * 2, "doc_ids": [*"ab"], "scores": [1.0, 0.5]})
    with pytest.raises(ValueError, match="must have the rows of scores in their order"):
        write_trec_run(tmp_path / "run", **{**frame, "scores": frame["scores"].sort_values()})
