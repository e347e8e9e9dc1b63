"""Boosted rankers: LambdaMART and MART, on histogram trees."""
