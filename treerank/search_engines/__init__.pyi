from treerank.search_engines.feature_logs import read_feature_log as read_feature_log
from treerank.search_engines.judgments import read_judgments as read_judgments
from treerank.search_engines.runs import read_runs as read_runs
from treerank.search_engines.runs import runs_as_features as runs_as_features
from treerank.search_engines.ubi import read_ubi as read_ubi
