"""The README's Python and its commands run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

README = Path(__file__).parents[1] / "README.md"


def test_readme_quick_start_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert (
        abs(names["result"].log_evidence - 1.8379) < 5 * names["result"].log_evidence_error + 1e-3
    )
    assert names["draws"].shape == (1000, 2)
    assert names["slow"].n_draws == 200
    assert "trustworthy" in capsys.readouterr().out
    assert (tmp_path / "diabetes.pmcnet" / "tensors.safetensors").is_file()


def test_readme_commands_run(tmp_path):
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
