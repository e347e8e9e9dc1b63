"""Does the suite catch one-line faults? Faults are drawn in five rooms, and the tests run on each.

    python benchmarks/bench_faults.py --number 200 --seed 0

A fault is another comparison, sign, connective or number, a condition turned round, or a line that
does nothing. A copy of the project gets it. Tests run in stages, up to the first that fails: those
of its file, of its room, and all others with the examples of docstrings.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("rankers", "objectives", "metrics", "files", "exports")
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
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


class Copy:
    """A copy of the project, in which tests run."""

    def __init__(self, folder):
        self.root = Path(folder, "copy")
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "generated")
        shutil.copytree(ROOT, self.root, ignore=ignored)
        for name in (".docs", ".ci", ".github"):
            shutil.copytree(ROOT / name, self.root / name)
        self.stored = self.kernels()

    def kernels(self):
        """Return where the compiled kernels of this state of the sources are."""
        ask = "from treerank.numerics.kernel_folder import kernel_folder; print(kernel_folder())"
        return Path(self.run("-c", ask).stdout.strip())

    def run(self, *arguments, limit=3000, **environment):
        """Run Python in the copy; an endless loop is None."""
        try:
            return subprocess.run(
                ["nice", sys.executable, *arguments],
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": str(self.root)} | environment,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None

    def caught_by(self, file, fault):
        """Return the test that fails with a fault, or an empty text."""
        path = self.root / file
        before = path.read_text()
        path.write_text(with_fault(before, fault))
        try:
            has_kernels = "numerics.compiling" in before
            if not has_kernels and (now := self.kernels()) != self.stored:
                shutil.rmtree(now)
                now.symlink_to(self.stored)
            for tests, environment in stages_of(Path(file), has_kernels):
                found = self.run(*PYTEST, *tests, **environment)
                if found is None or found.returncode:
                    return "no end" if found is None else failure(found)
            return ""
        finally:
            path.write_text(before)


def failure(found):
    """Return the first line that says what failed."""
    lines = found.stdout.splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "error")


def stages_of(file, has_kernels):
    """Yield tests and settings: first the tests that know a file best.

    Kernels are copied into others where they are compiled, so theirs are tested as plain Python
    first, which most tests of objectives and metrics allow.
    """
    room, first = Path(*file.parts[1:-1]), file.parts[1]
    own = Path("tests", room, f"test_{file.stem}.py")
    plain = {"NUMBA_DISABLE_JIT": "1"} if has_kernels else {}
    ignored = [f"--ignore=tests/objectives/test_{name}.py" for name in ("loss_objects", "sums")]
    if (ROOT / own).is_file():
        yield [str(own)], plain
    yield [f"tests/{first}", *(ignored if has_kernels else [])], plain
    yield ["tests", "treerank"], {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--skip", type=int, default=0, help="faults that are drawn and left out")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files = sorted(f for room in ROOMS for f in (ROOT / "treerank" / room).rglob("*.py"))
    faults = [(str(f.relative_to(ROOT)), fault) for f in files for fault in faults_of(f)]
    drawn = random.Random(options.seed).sample(faults, options.number)[options.skip :]
    print(f"{len(faults)} faults, {len(drawn)} drawn")
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        for file, fault in drawn:
            test = copy.caught_by(file, fault)
            line = (copy.root / file).read_text().split("\n")[fault[0] - 1].strip()
            print(test or "MISSED", file, fault[0], line, "->", fault[3], sep="  ", flush=True)


if __name__ == "__main__":
    main()
