"""Histogram trees: gradient boosting written for this package; the feature part is in ``trees``.

The package has this engine besides LightGBM and XGBoost because it needs less time than they do,
and because it can search splits with integer derivatives. Its quality equals that of LightGBM.
"""
