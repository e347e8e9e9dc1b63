"""Histogram trees: gradient boosting written for this package; the feature part is in ``trees``.

The package has this engine besides LightGBM and XGBoost because it needs less time than they do,
and because it can search splits with integer derivatives. Its quality equals that of LightGBM.

A fit finds bins once (``binning``); then ``boost`` adds one tree after the other, in five steps:

1. ``packing`` rounds gradient and hessian of each document to whole steps, in one or two words that
   can simply be added. Sums of words are exact, so trees depend neither on threads nor on workers.
2. ``histogram`` adds up the words of a leaf's documents over the bins of eight features at a time.
3. ``splitter`` finds in a histogram the best cut of each feature, or the best set of categories.
4. ``partition`` sorts the rows of a leaf by the side of the split that they go to.
5. ``grower`` repeats steps 2 to 4 for the leaf that gains most, until no leaf gains; threads share
   the rows of a large leaf, then blocks of features (``pieces``), and workers add up histograms.

Then ``leaves`` computes the values of the leaves from the derivatives as they are, and adds them to
the scores; ``forest`` turns bins into thresholds. Who owns which array:

==========================  ===========  ===============================================
array                       belongs to   written by
==========================  ===========  ===============================================
bounds of bins              a fit        ``binning.find_bins``; later only read
bins by row, by column      a fit        ``bin_rows``, ``by_column``; later only read
scores                      a fit        ``leaves``, after each tree
histograms of leaves        a fit        ``splitter``, while a tree grows
words of derivatives        a tree       ``packing.pack``; only ``packing.unpack`` reads them
rows, sorted by leaf        a tree       ``sampling`` draws them, ``partition`` sorts them
nodes, best splits          a tree       ``grower``; ``splitter`` writes best splits
values of leaves            a tree       ``leaves``
==========================  ===========  ===============================================

Random are only rows, features, rounding and projections of several outputs, see ``sampling``.
A tree grows in one kernel, which each thread calls once: a thread that finds the last piece of a
step done begins the next step, without Python. Only workers meet in Python, and Ctrl-C is heard
between trees. Other kernels make one pass over a range of rows or leaves, so that threads share the
range. Each is compiled once, that of growing once more if bins are in a file, and takes at most six
arguments.
"""
