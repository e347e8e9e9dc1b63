"""Feature parts that are trees grown by LightGBM or XGBoost, and what all boosted trees share."""
