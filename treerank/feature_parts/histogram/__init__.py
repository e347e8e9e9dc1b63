"""Histogram trees: gradient boosting written for this package; the feature part is in ``trees``.

The package has this engine besides LightGBM and XGBoost for three reasons: it scores documents
about three times as fast, its leaves may be vectors with one value per output of the objective,
and it can search splits with integer derivatives. Its quality equals that of LightGBM.
"""
