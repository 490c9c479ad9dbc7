"""The README is short, its code and commands run, and its numbers are those of the JSON files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "docs" / "results"


def test_readme_is_read_in_a_minute():
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    cells = [cell.strip() for line in lines if line.startswith("|") for cell in line.split("|")]
    shown = [re.sub(r"\]\([^)]*\)", "]", cell) for cell in cells]
    assert max(map(len, shown)) <= 100


def test_quick_start_has_twelve_lines():
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip()]) <= 12


def test_results_are_those_of_the_stored_files():
    checked = subprocess.run(
        [sys.executable, "benchmarks/readme_table.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    rows = re.search(r"<!-- results.*?<!-- end", README.read_text(), re.DOTALL).group().count("\n|")
    assert 2 < rows <= 2 + 8


def test_a_changed_number_is_noticed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import readme_table

    before = readme_table.table()
    files = readme_table.stored
    monkeypatch.setattr(
        readme_table,
        "stored",
        lambda name: files(name) | {"predict": {"rows_per_second": 1e6}},
    )
    monkeypatch.setattr(
        readme_table, "ROWS", [row for row in readme_table.ROWS if row[2] == "cost"]
    )
    (changed,) = readme_table.table().splitlines()[2:]
    assert changed not in before


def test_results_are_short():
    pages = sorted(RESULTS.glob("*.md"))
    assert sum(len(page.read_text().splitlines()) for page in pages) <= 400
    long = [page.name for page in pages if any(len(x) > 120 for x in page.read_text().splitlines())]
    assert long == []


def test_quick_start_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names: dict = {}
    exec(compile(block, str(README), "exec"), names)
    assert str(names["model"].verdict_) in capsys.readouterr().out
    assert names["error"].shape == names["mean"].shape == (111,)
    assert (tmp_path / "diabetes.pmcnet" / "tensors.safetensors").is_file()


def test_commands_run(tmp_path):
    source = np.random.default_rng(0)
    x = source.normal(size=(80, 2))
    table = pd.DataFrame(
        {"size": x[:, 0], "age": x[:, 1], "price": 3 * x[:, 0] + 0.2 * source.normal(size=80)}
    )
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    (commands,) = re.findall(r"```sh\n(.*?)```", README.read_text(), flags=re.DOTALL)
    lines = commands.strip().splitlines()
    assert len(lines) == 3
    for line in lines:
        program, *arguments = line.split()
        assert program == "pmcnet"
        finished = subprocess.run(
            [sys.executable, "-m", "pmcnet", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=os.environ,
        )
        assert finished.returncode == 0, finished.stderr
    predictions = pd.read_csv(tmp_path / "predictions.csv")
    assert {
        "size",
        "age",
        "prediction",
        "std",
        "lower",
        "upper",
        "epistemic",
        "aleatoric",
        "monte_carlo_error",
        "novelty",
        "is_novel",
    } == set(predictions.columns)
    assert len(predictions) == 80
