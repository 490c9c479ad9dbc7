"""Running commands in tests, tables that are small, and fits that take a second."""

from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner, Result

from pmcnet.cli import main

TINY = (
    "--method",
    "annealed",
    "--option",
    "n_islands=4",
    "--option",
    "n_particles=8",
    "--prior-std",
    "1",
    "--noise",
    "learn",
    "--hidden",
    "2",
    "--device",
    "cpu",
)
LIGHT = (
    "--method", "pmcnet-light", "--option", "n_proposals=4", "--option", "n_draws=5",
    "--option", "n_steps=4", "--option", "n_epochs=5", "--hidden", "2", "--device", "cpu",
)  # fmt: skip


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments: object) -> Result:
    """A command that works."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object, says: tuple[str, ...] = ()) -> str:
    """A command that fails as bad input does: exit code 2, and one line that says all of `says`."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert "Traceback" not in result.output
    assert not result.stdout
    for words in says:
        assert words in line, line
    return line


def files(folder: Path) -> set[str]:
    """Everything below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def classes(n_rows: int = 30) -> pd.DataFrame:
    """Two classes as strings; numbers with gaps, a category with gaps."""
    draw = np.random.default_rng(0)
    x, z = draw.normal(size=n_rows).round(3), draw.normal(size=n_rows).round(3)
    city = draw.choice(["Bergen", "Oslo", "Tromsø"], n_rows).astype(object)
    y = np.where(x + 0.3 * draw.normal(size=n_rows) > 0, "yes", "no")
    z[3], city[5] = np.nan, None
    return pd.DataFrame({"x": x, "z": z, "city": city, "y": y})


def numbers(n_rows: int = 30) -> pd.DataFrame:
    """A regression."""
    draw = np.random.default_rng(1)
    x, z = draw.normal(size=n_rows).round(3), draw.normal(size=n_rows).round(3)
    return pd.DataFrame({"x": x, "z": z, "y": (50 + 10 * x + draw.normal(size=n_rows)).round(3)})


def written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path
