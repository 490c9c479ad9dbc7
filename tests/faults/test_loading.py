"""Nothing that is read can run: the source calls no loader that would execute what a file says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "pmcnet"
FILES = sorted(PACKAGE.rglob("*.py"))

MODULES = {
    "pickle",
    "_pickle",
    "cPickle",
    "cloudpickle",
    "dill",
    "joblib",
    "marshal",
    "shelve",
    "yaml",
    "runpy",
    "imp",
}
CALLS = {
    *(
        "eval",
        "exec",
        "compile",
        "__import__",
        "builtins.eval",
        "builtins.exec",
        "builtins.compile",
    ),
    *(
        "torch.load",
        "torch.jit.load",
        "torch.hub.load",
        "torch.package.PackageImporter",
        "torch.export.load",
    ),
    *(
        "pandas.read_pickle",
        "pandas.eval",
        "pandas.read_hdf",
        "sklearn.externals.joblib.load",
        "importlib.import_module",
    ),
    *(
        "os.system",
        "os.popen",
        "numpy.lib.format.read_array",
        "zipfile.ZipFile.extractall",
        "shutil.unpack_archive",
    ),
}
METHODS = {"extractall", "read_pickle", "to_pickle"}


def found_in(text: str) -> list[str]:
    """What a source does that it should not."""
    tree = ast.parse(text)
    names: dict[str, str] = {}
    wrong: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                (a.asname or a.name.split(".")[0]): (a.name if a.asname else a.name.split(".")[0])
                for a in node.names
            }
            wrong += [a.name for a in node.names if a.name.split(".")[0] in MODULES]
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names}
            wrong += [node.module] if node.module.split(".")[0] in MODULES else []
    return wrong + [
        call
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for call in _wrong_call(node, names)
    ]


def _wrong_call(node: ast.Call, names: dict[str, str]) -> Iterator[str]:
    called = _dotted(node.func, names)
    if called in CALLS or called.rpartition(".")[2] in METHODS:
        yield called
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    if called in ("numpy.load", "numpy.memmap"):
        allowed = options.get("allow_pickle")
        if not (isinstance(allowed, ast.Constant) and allowed.value is False):
            yield f"{called} without allow_pickle=False"
    if called.startswith("numpy.lib.format.") and "allow_pickle" in options:
        yield called
    if (
        called
        in ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_output")
        and "shell" in options
    ):
        yield f"{called} with a shell"


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    return f"{_dotted(node.value, names)}.{node.attr}" if isinstance(node, ast.Attribute) else "?"


CONSTANT_NAMES = {"competitors/base.py": ["importlib.import_module"]}
"""Imports of libraries whose names are constants of the source."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_source_loads_nothing_that_runs(path):
    assert found_in(path.read_text()) == CONSTANT_NAMES.get(str(path.relative_to(PACKAGE)), [])


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.load('x')",
        "import torch as t\nt.load('x')",
        "from torch import load as read\nread('x')",
        "import pickle",
        "from joblib import load",
        "import yaml",
        "eval('1')",
        "exec('1')",
        "import numpy as np\nnp.load('x')",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import pandas as pd\npd.read_pickle('x')",
        "archive.extractall()",
        "import subprocess\nsubprocess.run('x', shell=True)",
    ],
)
def test_rule_catches_a_loader_that_runs(text):
    assert found_in(text)


def test_rule_lets_harmless_code_pass():
    assert not found_in(
        "import re\nimport numpy as np\nre.compile('x')\nnp.load('x', "
        "allow_pickle=False)\nmodel.eval()"
    )
