"""Examples and benchmarks run at small sizes, so that they cannot rot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


TUTORIALS = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
QUICK = ("any_density",)


def run(*arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_mixture_example_prints_and_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="the examples extra is not installed")
    picture = tmp_path / "pictures" / "mixture.png"
    output = run("examples/mixture.py", "--steps", "6", "--out", str(picture))
    for word in ("log evidence", "effective draws", "verdict", str(picture)):
        assert word in output
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", QUICK)
def test_quick_tutorials_run(name):
    assert "trustworthy" in run(f"examples/{name}.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in TUTORIALS if n not in (*QUICK, "mixture")])
def test_tutorials_run(name):
    assert "trustworthy" in run(f"examples/{name}.py")
