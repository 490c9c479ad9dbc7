"""What is in the wheel, and does it work where nothing else is installed?

Run by `make package` with the Python of a fresh environment that holds the wheel alone. It prints
the size, the files and the licences, the time of the import, and fits a small table with the
command line.

    python benchmarks/wheel.py dist/pmcnet-0.1.0-py3-none-any.whl
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path

OPTIONS = ("--hidden", "4", "--likelihood", "gaussian", "--noise", "learn", "--prior-std", "1")
ISLANDS = ("--option", "n_islands=4", "--option", "n_particles=8")


def contents(wheel: Path) -> None:
    """Size, files by kind, and the largest."""
    with zipfile.ZipFile(wheel) as archive:
        files = [file for file in archive.infolist() if not file.is_dir()]
    kinds = Counter(Path(file.filename).suffix or "none" for file in files)
    unpacked = sum(file.file_size for file in files)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, unpacked {unpacked / 1e6:.2f} MB")
    print(f"{len(files)} files:", ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))
    largest = sorted(files, key=lambda file: -file.file_size)[:3]
    print("largest:", ", ".join(f"{f.filename} {f.file_size / 1e3:.0f} kB" for f in largest))
    print("licences of data:", *(f.filename for f in files if f.filename.endswith("README.md")))


def licences() -> None:
    """The licence of each distribution of this environment, as its metadata say."""
    found: dict[str, str] = {}
    for each in distributions():
        stated = each.metadata.get("License-Expression") or each.metadata.get("License") or ""
        classified = [
            line.split(" :: ")[-1]
            for line in each.metadata.get_all("Classifier") or []
            if line.startswith("License ::")
        ]
        first = stated.strip().splitlines()[0] if stated.strip() else ", ".join(classified)
        found[each.metadata["Name"]] = first[:40] or "not stated"
    for licence in sorted(set(found.values())):
        print(f"  {licence}:", ", ".join(sorted(n for n, of in found.items() if of == licence)))


def seconds(*command: str) -> float:
    """How long a command of this environment takes; it must succeed."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def fit(folder: Path) -> None:
    """Fit 40 rows and predict them, as a user would."""
    lines = [f"{i % 7},{i % 5},{i % 7 + 0.1 * (i % 3):.1f}" for i in range(40)]
    (folder / "rows.csv").write_text("\n".join(["size,age,price", *lines]) + "\n")
    command = [sys.executable, "-m", "pmcnet"]
    run = str(folder / "run")
    fitting = ["fit", str(folder / "rows.csv"), "--target", "price", "--out", run]
    subprocess.run([*command, *fitting, *OPTIONS, *ISLANDS], check=True)
    out = folder / "predictions.csv"
    subprocess.run([*command, "predict", run, str(folder / "rows.csv"), "-o", str(out)], check=True)
    print("predictions:", len(out.read_text().splitlines()) - 1, "rows")


def main() -> None:
    """Print all and fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    contents(parser.parse_args().wheel.resolve())
    print("licences of this environment:")
    licences()
    bare = statistics.median(seconds("-c", "") for _ in range(3))
    for module in ("pmcnet", "pmcnet.ais", "pmcnet.estimators"):
        taken = statistics.median(seconds("-c", f"import {module}") for _ in range(3))
        print(f"import {module}: {taken - bare:.2f} s beyond Python's own {bare:.2f} s")
    subprocess.run([sys.executable, "-m", "pmcnet", "--version"], check=True)
    with tempfile.TemporaryDirectory() as name:
        fit(Path(name))


if __name__ == "__main__":
    main()
