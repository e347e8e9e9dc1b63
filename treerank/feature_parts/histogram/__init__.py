"""Histogram trees: gradient boosting written for this package; the feature part is in ``trees``.

treerank has its own trees, in addition to LightGBM's and XGBoost's, because they take less time to
fit, and because they can search for splits with integer gradients.

A fit finds the bins once (``binning``); then ``boost`` adds one tree after another, in five steps:

1. ``packing`` rounds the gradient and hessian of each document to multiples of a step, and packs
   them into one or two integers that can simply be added. Their sums are exact, so trees depend
   neither on the number of threads nor on the number of workers.
2. ``histogram`` sums the packed gradients of a leaf's documents by bin, for eight features at a
   time.
3. ``splitter`` finds the best split of each feature in a histogram, or the best set of categories.
4. ``partition`` sorts the rows of a leaf by the side of the split to which they go.
5. ``grower`` repeats steps 2 to 4 for the leaf with the largest gain, until no split has a gain.
   Threads share the rows of a large leaf, then blocks of features, and split other leaves alone
   (``tasks``). Workers add up their histograms.

Then ``leaves`` computes the values of the leaves from the exact gradients and hessians, whose sums
the tree has if packing rounds none of them, and adds them to the scores; ``forest`` turns bins into
thresholds. Each array is written by one module:

==========================  ===========  ===================================================
array                       lives for    written by
==========================  ===========  ===================================================
bounds of bins              a fit        ``binning.find_bins``; later only read
bins by row, by column      a fit        ``bin_rows``, ``by_column``; later only read
scores                      a fit        ``leaves``, after each tree
histograms of leaves        a fit        ``histogram.fill``, ``splitter``, while a tree grows
packed gradients            a tree       ``packing.pack``; only ``packing.unpack`` reads them
rows, sorted by leaf        a tree       ``sampling`` draws them, ``partition`` sorts them
nodes, best splits          a tree       ``grower``; ``splitter`` writes best splits
values of leaves            a tree       ``leaves``
==========================  ===========  ===================================================

Random numbers are used only to sample rows and features, to round gradients and hessians, and to
project several outputs; see ``sampling``. A tree grows in one kernel, which each thread calls once:
the thread that finishes a leaf, or the last task of a step, begins what follows, without Python.
Workers exchange their sums in Python, and Ctrl-C takes effect between trees. Other kernels make one
pass over a range of rows or leaves, which threads share. Kernels are compiled without what few fits
need (categories, constraints, other workers, features that are mostly 0, bins in a file, rounded
derivatives), and are compiled again for the first fit that needs it.
"""
