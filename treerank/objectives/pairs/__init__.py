r"""Losses of pairs, times weights of pairs, summed over the pairs of each query.

:mod:`~treerank.objectives.pairs.losses`, :mod:`~treerank.objectives.pairs.weights` and
:mod:`~treerank.objectives.pairs.rules` are what users choose;
:class:`~treerank.objectives.pairs.problem.PairProblem` holds the choice with the documents, and
:class:`~treerank.objectives.pairs.objective.PairwiseObjective` is the objective. The sums come from
a kernel, which :func:`~treerank.objectives.pairs.objective.choose_kernel` chooses by the first row
that applies:

================================================ ================ ==========================
what is set                                      derivatives      value and derivatives
================================================ ================ ==========================
pairs sampled or given                           ``listed_pairs`` ``listed_pairs``
pairs with ties                                  ``exact_pairs``  ``exact_pairs``
loss logistic, half_squared_tanh,                ``fast_pairs``   ``exact_pairs``
squared_sigmoid or fidelity
loss half_squared or exponential, with a weight  ``level_sums``   ``level_sums``
of labels alone and pairs that are not cut off
loss hinge or squared_hinge, likewise            ``hinges``       ``hinges``
anything else, such as a loss of one's own, or   ``exact_pairs``  ``exact_pairs``
ndcg under hinge
================================================ ================ ==========================

A weight of labels alone is uniform, query or label; pairs that are not cut off are all, adjacent or
balanced ones. ``fast_pairs`` computes in single precision, the others in double precision. Where
``k`` or ``top`` is short beside the queries, ``fast_pairs`` visits only pairs with a document near
the top.
"""
