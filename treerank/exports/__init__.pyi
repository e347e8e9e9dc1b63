from treerank.exports.exporting import export as export
from treerank.exports.exporting import formats_for as formats_for
from treerank.exports.uploads import write_feature_set as write_feature_set
