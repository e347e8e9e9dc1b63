"""Inspection: why a ranker ranks as it does, where it fails, and what its data hold."""

from treerank.inspection.certainty import top_certainty
from treerank.inspection.data_sheet import DataSheet, data_sheet, drift
from treerank.inspection.effects import Effect, effect
from treerank.inspection.importance import Importances, permutation_importance
from treerank.inspection.leaks import Copies, copies, single_features
from treerank.inspection.pair_calibration import CalibrationCurve, calibration_curve
from treerank.inspection.slices import Slice, slices
from treerank.inspection.standing import explain_moves, explain_standing
from treerank.inspection.swaps import Swaps, costly_swaps

__all__ = [
    "CalibrationCurve",
    "Copies",
    "DataSheet",
    "Effect",
    "Importances",
    "Slice",
    "Swaps",
    "calibration_curve",
    "copies",
    "costly_swaps",
    "data_sheet",
    "drift",
    "effect",
    "explain_moves",
    "explain_standing",
    "permutation_importance",
    "single_features",
    "slices",
    "top_certainty",
]
