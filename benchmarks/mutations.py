"""One-line faults: where a line is wrong, how, and in which order tests look for it."""

import ast
from pathlib import Path

_OPERATORS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


def faulty(node):
    """Return what stands for a node in a fault, or None."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPERATORS:
        ops = [_OPERATORS[type(node.ops[0])](), *node.ops[1:]]
        return ast.Compare(node.left, ops, node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(_OPERATORS[type(node.op)](), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.IfExp):
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return ast.Pass() if is_call or isinstance(node, ast.Raise | ast.AugAssign) else None


def faults_of(path):
    """Return line, first and last column and new text of each fault of a file."""
    source = path.read_text()
    found, stack = [], [ast.parse(source)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        new = faulty(node)
        if new is not None and node.lineno == node.end_lineno:
            text = ast.unparse(ast.fix_missing_locations(new))
            text = f"({text})" if isinstance(new, ast.expr) else text
            found.append((node.lineno, node.col_offset, node.end_col_offset, text))
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                values = value if isinstance(value, list) else [value]
                stack += [each for each in values if isinstance(each, ast.AST)]
    return sorted(found)


def with_fault(source, fault):
    """Return a source with a fault."""
    number, first, last, text = fault
    lines = source.split("\n")
    line = lines[number - 1].encode()
    lines[number - 1] = (line[:first] + text.encode() + line[last:]).decode()
    return "\n".join(lines)


def stages_of(root, file, has_kernels):
    """Yield tests and settings: first the tests that know a file best.

    Kernels are copied into others where they are compiled, so theirs are tested as plain Python
    first, which most tests of objectives and metrics allow.
    """
    package, first = Path(*file.parts[1:-1]), file.parts[1]
    own = Path("tests", package, f"test_{file.stem}.py")
    plain = {"NUMBA_DISABLE_JIT": "1"} if has_kernels else {}
    ignored = [f"--ignore=tests/objectives/test_{name}.py" for name in ("loss_objects", "sums")]
    if (root / own).is_file():
        yield [str(own)], plain
    yield [f"tests/{first}", *(ignored if has_kernels else [])], plain
    yield ["tests", "benchmarks/tests", "treerank"], {}
