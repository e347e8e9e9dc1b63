"""The modules that formats "python" and "javascript" write, without a model.

They are files of their own, so that they are read, checked and run as what they are. The line with
the text of the model is replaced by :func:`treerank.exports.code_module.write_module`.
"""
