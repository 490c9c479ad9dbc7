"""The import rule: imports point down only, neighbours on a row never import each other."""

import ast
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "pmcnet"

ROWS = [
    {"__main__"},
    {"cli"},
    {"paper"},
    {"runs"},
    {"estimators"},
    {"reports"},
    {"tune"},
    {"methods"},
    {"bnn", "distributed"},
    {"ais", "competitors", "metrics", "data"},
    {"io"},
    {"rng"},
    {"threads"},
    {"requirements"},
    {"errors"},
]
LEVEL = {room: depth for depth, row in enumerate(ROWS) for room in row}

# What may be imported in one room only.
CONFINED = {
    "click": {"cli"},
    "matplotlib": {"reports"},
    "torch.distributed": {"distributed"},
    "sklearn.base": {"estimators"},
    "jax": {"methods"},
    "numpyro": {"methods"},
    "numba": {"bnn"},
    "llvmlite": {"bnn"},
    "laplace": {"methods"},
    "mapie": {"competitors", "estimators"},
    "torch.nn": {"bnn", "methods", "estimators", "paper"},
}

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    room = room_of(path)
    if room == "__init__":
        return
    assert room in LEVEL, f"{room} is not a room of the house; add it to ROWS where it belongs"
    for name in imported_modules(path):
        parts = name.split(".")
        if parts[0] == "pmcnet" and len(parts) > 1 and parts[1] in LEVEL and parts[1] != room:
            assert LEVEL[parts[1]] > LEVEL[room], f"{room} must not import {parts[1]}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_confined_packages_stay_in_their_room(path):
    for name in imported_modules(path):
        for package, rooms in CONFINED.items():
            if name == package or name.startswith(package + "."):
                assert room_of(path) in rooms, f"{package} belongs to {rooms}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_hold_one_idea(path):
    assert len(path.read_text().splitlines()) <= 300


def test_rule_catches_an_upward_import(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("from pmcnet.cli import main\nimport torch.nn as nn\n")
    names = imported_modules(file)
    assert "pmcnet.cli" in names
    assert "torch.nn" in names


# The same part in several rooms: a family's shared file, a command at each layer, a dataset.
SHARED_NAMES = {
    "__init__",
    "algorithm",
    "base",
    "registry",
    "result",
    "state",
    "target",
    "compare",
    "evaluate",
    "explain",
    "fit",
    "predict",
    "update",
    "mnist_c",
}


def test_no_two_modules_share_a_name_with_different_parts():
    stems = Counter(path.stem for path in FILES)
    assert {stem for stem, n in stems.items() if n > 1} <= SHARED_NAMES
