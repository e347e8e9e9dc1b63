r"""Losses of pairs, times weights of pairs, summed over the pairs of each query.

:mod:`~treerank.objectives.pairs.losses`, :mod:`~treerank.objectives.pairs.weights` and
:mod:`~treerank.objectives.pairs.rules` are what users choose from;
:class:`~treerank.objectives.pairs.problem.PairProblem` holds these choices and the documents, and
:class:`~treerank.objectives.pairs.objective.PairwiseObjective` turns the problem into an objective.
The sums come from a kernel, a compiled function.
:func:`~treerank.objectives.pairs.objective.choose_kernel` chooses the kernel by the first row of
this table that applies. The first column is for derivatives alone, and the second column for the
value of the loss together with its derivatives:

================ ==================== ==========================================================
derivatives      value, derivatives   settings
================ ==================== ==========================================================
``listed_pairs`` ``listed_pairs``     pairs given
``exact_pairs``  ``exact_pairs``      pairs with ties
``fast_pairs``   ``exact_pairs``      loss logistic, half_squared_tanh, squared_sigmoid or
                                      fidelity
``closed_forms`` ``closed_forms``     loss half_squared, exponential, hinge or squared_hinge, with
                                      a weight that depends on labels alone, pairs without a cutoff
``exact_pairs``  ``exact_pairs``      anything else, such as a loss of your own, or ndcg under
                                      hinge
================ ==================== ==========================================================

The weights that depend on labels alone are uniform, query and label; the pairs without a cutoff are
all and adjacent. ``fast_pairs`` computes in single precision, the others in double precision. If
``k`` or ``top`` is small compared with the number of documents of a query, ``fast_pairs`` visits
only pairs with a document near the top.
"""
