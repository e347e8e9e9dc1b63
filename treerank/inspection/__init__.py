"""Inspection: why a ranker ranks as it does, where it fails, and what its data hold."""

from treerank.inspection.data_sheet import DataSheet, data_sheet, drift
from treerank.inspection.leaks import Copies, copies, single_features
from treerank.inspection.pair_calibration import CalibrationCurve, calibration_curve
from treerank.inspection.swaps import Swaps, costly_swaps

__all__ = [
    "CalibrationCurve",
    "Copies",
    "DataSheet",
    "Swaps",
    "calibration_curve",
    "copies",
    "costly_swaps",
    "data_sheet",
    "drift",
    "single_features",
]
