"""Is the Monte Carlo error that islands, or chains, state the true one?

The posteriors of `bank_cases.py` have long reference runs, by NUTS or by many islands. Runs are
what a user gets in a few minutes on a CPU. Parts write files, so that they can be made on different
machines, and skip those that exist. NUTS runs on JAX's default device; JAX_PLATFORMS sets it.

    python benchmarks/bank.py reference --out DIR/references --device cuda --data ../shared/data
    python benchmarks/bank.py run --out DIR/runs --jobs 8 --threads 2 --data ../shared/data
    python benchmarks/bank.py run --out DIR/chains --method hmc --data ../shared/data
    python benchmarks/bank.py compare --references DIR/references --runs DIR/runs --json FILE

A single run's error at a row is a random number even where the standard error is exact. The true
error of a case, for each row and each of its C outputs, is therefore over its seeds s:

    true_c^2 = max(0, mean_s (G_s / mean G) (mean_sc - reference_c)^2 - se(reference_c)^2).

G_s / mean G makes runs with different numbers of islands alike, since errors fall as 1 / sqrt(G). A
row's error is in the units of the verdict's limit: of regression true / predictive standard
deviation, of classes sum_c true_c / 2, which for two classes is the root mean square of the total
variation, and a bound of it for more. What a run states is put in the same form: its standard
errors without Student's factor, of classes summed over c and halved. (A verdict states the expected
total variation, sqrt(2 / pi) of that.) Both are medians over rows; the true one of a run is
sqrt(mean G / G_s) times that of its case. S seeds show it to about 1 / sqrt(2 S) of its size. It is
resolved where it is not below the reference's own error.

The confusion matrix sets each verdict against the run's own errors |mean - reference mean|, of
classes the total variation, at the median row and the 90th percentile, in shares of their limits.
"""

import argparse
import io
import json
import math
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

import bank_cases
from bank_cases import CASES, Array, Case, Problem
from bank_runs import METHODS
from pmcnet.ais.agreement import UPPER
from pmcnet.ais.verdict import STATUSES
from pmcnet.errors import InputError
from pmcnet.io.atomic import write_whole

FACTOR = 2.0
"""Stated errors within this factor of the true one count as right."""
EXCESSES = ("within the limits", "above a limit", "above twice a limit")


def store(path: Path, content: dict[str, Any]) -> None:
    """Arrays, numbers and strings in one file, which is there whole or not at all."""
    file = io.BytesIO()
    np.savez_compressed(file, **content)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, file.getvalue())


def load(path: Path) -> dict[str, Any]:
    """What `store` has written."""
    with np.load(path) as file:
        return {name: file[name] if file[name].ndim else file[name].item() for name in file}


def make_references(options: argparse.Namespace) -> int:
    """Make those that are missing; how many could not be made."""
    n, n_particles, n_draws = options.islands, options.particles, options.nuts_draws
    annealing = replace(bank_cases.ISLANDS.annealing, n_particles=n_particles, n_islands=n)
    islands = {"annealing": annealing, "n_islands": n, "n_draws": 4 * n * n_particles}
    methods = {
        "islands": replace(bank_cases.ISLANDS, **islands),
        "nuts": replace(bank_cases.NUTS, n_warmup=n_draws // 2, n_draws=n_draws),
    }
    start, n_failed = time.monotonic(), 0
    for case in options.cases:
        path = options.out / f"{case.name}.npz"
        if path.exists() or time.monotonic() - start > 60 * options.minutes:
            continue
        try:
            problem = case.problem(options.data, options.device)
            found = bank_cases.reference(case, problem, methods[options.kind or case.reference])
        except InputError as error:
            n_failed += 1
            print(error, flush=True)
            continue
        store(path, found)
        own = np.median(row_errors(case, found["standard_error"], found["std"]))
        what = f"own error {own:.4f}, R-hat {found['rhat']:.3f}, {found['seconds']:.0f} s"
        print(f"{case.name} (d = {case.dim}): {what}; {found['reason']}", flush=True)
    return n_failed


def fitted(case: Case, problem: Problem, seed: int, seconds: float, method: str) -> dict[str, Any]:
    """One run as a user would make it, as it is stored."""
    run = METHODS[method](problem, seed, seconds)
    found = bank_cases.moments(problem.target, run.islands, problem.x)
    agreement, verdict = run.agreement, run.verdict
    return {
        "mean": found.mean.mean(0).numpy(),
        "standard_error": bank_cases.plain_error(found),
        "stated": found.error(agreement.quantity).numpy(),
        "std": found.variance.sqrt().numpy(),
        "fingerprint": problem.fingerprint,
        "seed": seed,
        "n_islands": agreement.n_islands,
        "n_train": len(problem.target.x),
        "max_seconds": seconds,
        "n_threads": torch.get_num_threads(),
        "seconds": run.seconds,
        "log_evidence": run.log_evidence,
        "log_evidence_error": run.log_evidence_error,
        "status": verdict.status,
        "reason": verdict.reason,
        "limit": verdict.limits["error"],
        "limit_upper": verdict.limits["error_upper"],
        **{f"agreement_{name}": value for name, value in agreement._asdict().items()},
    }


def fit_one(case: Case, seed: int, options: argparse.Namespace, deadline: float) -> str:
    """Fit and store, unless it is too late; a line of what came out, or how it failed."""
    if time.time() > deadline:
        return ""
    try:
        found = fitted(case, case.problem(options.data), seed, options.seconds, options.method)
        store(options.out / f"{case.name}-{seed}.npz", found)
    except Exception:
        return f"{case.name}, seed {seed}: failed\n{traceback.format_exc()}"
    what = f"{found['n_islands']} islands, {found['seconds']:.0f} s, {found['status']}"
    return f"{case.name} (d = {case.dim}), seed {seed}: {what}: {found['reason']}"


def make_runs(options: argparse.Namespace) -> int:
    """Fit what is missing, the heaviest cases first; how many fits failed."""
    cases = sorted(options.cases, key=lambda case: -case.dim * case.n_rows)
    tasks = [(case, int(seed)) for case in cases for seed in options.seeds.split(",")]
    tasks = [(c, seed) for c, seed in tasks if not (options.out / f"{c.name}-{seed}.npz").exists()]
    deadline, lines = time.time() + options.budget_seconds, []
    few_threads = {"initializer": torch.set_num_threads, "initargs": (options.threads,)}
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), **few_threads) as pool:
        pending = [pool.submit(fit_one, *task, options, deadline) for task in tasks]
        for future in as_completed(pending):
            lines.append(future.result())
            print(lines[-1], end="\n" if lines[-1] else "", flush=True)
    print(f"{len(tasks)} runs were missing; {lines.count('')} of them were not begun.")
    return sum(line.endswith("\n") for line in lines)


def row_errors(case: Case, error: Array, std: Array) -> Array:
    """Errors (..., N, C) as those of rows (..., N), in the units of the verdict's limit."""
    return 0.5 * error.sum(-1) if case.n_classes else error[..., 0] / std


def upper(error: Array) -> float:
    """That of the row which the verdict's upper limit is for, of (N,)."""
    return float(np.sort(error)[math.ceil(UPPER * (len(error) - 1))])


def compared(case: Case, reference: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """A case in numbers; for the equations see the top of the file."""
    if not all(np.allclose(run["fingerprint"], reference["fingerprint"]) for run in runs):
        raise InputError(f"{case.name}: a run and the reference have different rows.")
    off = np.abs(np.stack([run["mean"] for run in runs]) - reference["mean"])  # (S, N, C)
    n_islands = np.array([run["n_islands"] for run in runs])  # 0 where none was polished
    n_known = max(1, np.count_nonzero(n_islands))
    share = n_islands * n_known / max(1, n_islands.sum())  # (S,)
    square = (share[:, None, None] * off**2).sum(0) / n_known
    square = np.maximum(square - reference["standard_error"] ** 2, 0)  # (N, C)
    true = np.median(row_errors(case, np.sqrt(square), reference["std"]))
    own = np.median(row_errors(case, reference["standard_error"], reference["std"]))
    rows = []
    for run, part, error in zip(runs, share, row_errors(case, off, reference["std"]), strict=True):
        stated = np.median(row_errors(case, run["standard_error"], run["std"]))
        excess = max(np.median(error) / run["limit"], upper(error) / run["limit_upper"])
        rows.append(
            {
                **{key: value for key, value in run.items() if not isinstance(value, np.ndarray)},
                "stated": float(stated),
                "ratio": float(stated * math.sqrt(part) / true) if part and true else None,
                "error": float(np.median(error)),
                "error_upper": upper(error),
                "excess": EXCESSES[int(excess > 1) + int(excess > 2)],
            }
        )
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    return {
        "name": case.name,
        "dim": case.dim,
        "reference": {key: reference[key] for key in ("how", "reason", "rhat", "seconds")},
        "reference_error": float(own),
        "true": float(true),
        "stated": float(np.median([row["stated"] for row in rows])),
        "ratio": float(np.median(ratios)) if ratios else None,
        "resolved": bool(true >= own),
        "n_known": int(np.count_nonzero(n_islands)),
        "n_right": sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios),
        "runs": rows,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How often stated errors are right, and what verdicts say of runs with large errors."""
    found: dict[str, Any] = {}
    for name, part in ("all", rows), ("resolved", [row for row in rows if row["resolved"]]):
        n, n_right = (sum(row[key] for row in part) for key in ("n_known", "n_right"))
        found[name] = {"n_runs": n, "n_right": n_right, "share_right": n_right / max(1, n)}
    found["confusion"] = {status: dict.fromkeys(EXCESSES, 0) for status in STATUSES}
    for run in (run for row in rows for run in row["runs"]):
        found["confusion"][run["status"]][run["excess"]] += 1
    return found


def compare(options: argparse.Namespace) -> None:
    """Print and store what the files of references and runs say."""
    print("case, d, N, verdicts, G, seconds, stated and true error (reference's own), ratio, right")
    rows = []
    for case in CASES:
        reference = options.references / f"{case.name}.npz"
        runs = [load(path) for path in sorted(options.runs.glob(f"{case.name}-*.npz"))]
        if runs and reference.exists():
            rows.append(compared(case, load(reference), runs))
            print(_table_line(rows[-1]), flush=True)
    found = summary(rows)
    for name in "all", "resolved":
        n, n_right, share = found[name].values()
        print(f"{name}: {n_right} of {n} runs ({share:.0%}) within a factor of {FACTOR:g}")
    for status, counts in found["confusion"].items():
        print(f"{status:12} " + ", ".join(f"{n} {excess}" for excess, n in counts.items()))
    if options.json:
        content = json.dumps({"settings": {"factor": FACTOR}, "summary": found, "rows": rows})
        plain = json.loads(content, parse_constant=lambda _: None)  # JSON has no infinity
        options.json.write_text(json.dumps(plain, indent=1) + "\n")


def _table_line(row: dict[str, Any]) -> str:
    runs = row["runs"]
    verdicts = "/".join(str(sum(run["status"] == status for run in runs)) for status in STATUSES)
    n_islands, seconds = (np.median([run[key] for run in runs]) for key in ("n_islands", "seconds"))
    ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
    return (
        f"{row['name']:26} {row['dim']:4} {runs[0]['n_train']:5} {verdicts:>6} {n_islands:4.0f} "
        f"{seconds:5.0f} {row['stated']:7.4f} {row['true']:7.4f} ({row['reference_error']:.4f}) "
        f"{ratio:>5} {row['n_right']}/{len(runs)}"
    )


def chosen(names: str, folder: Path | None) -> list[Case]:
    """Cases by their names; "all" leaves out those whose files are not given."""
    if names == "all":
        return [case for case in CASES if folder or not case.needs_files]
    known = {case.name: case for case in CASES}
    if unknown := set(names.split(",")) - set(known):
        raise SystemExit(f"no case is called {', '.join(unknown)}. Use: {', '.join(known)}.")
    return [known[name] for name in names.split(",")]


def main() -> None:
    """Make references or runs, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(required=True)
    making = argparse.ArgumentParser(add_help=False)
    making.add_argument("--cases", default="all")
    making.add_argument("--data", type=Path, help="folder with uci/NAME.npz")
    making.add_argument("--out", type=Path, required=True)
    part = parts.add_parser("reference", parents=[making])
    part.set_defaults(work=make_references)
    part.add_argument("--device", default="cpu")
    part.add_argument("--minutes", type=float, default=math.inf, help="then no other is begun")
    part.add_argument("--kind", choices=("nuts", "islands"), help="instead of that of the case")
    for name, n in ("particles", 64), ("islands", 64), ("nuts-draws", 2000):
        part.add_argument(f"--{name}", type=int, default=n)
    part = parts.add_parser("run", parents=[making])
    part.set_defaults(work=make_runs)
    part.add_argument("--seeds", default="0,1,2,3,4")
    part.add_argument("--method", choices=tuple(METHODS), default="annealed")
    for name, limit in ("seconds", 180.0), ("budget-seconds", math.inf):
        part.add_argument(f"--{name}", type=float, default=limit)
    for name in "jobs", "threads":
        part.add_argument(f"--{name}", type=int, default=1)
    part = parts.add_parser("compare")
    part.set_defaults(work=compare)
    for name in "references", "runs":
        part.add_argument(f"--{name}", type=Path, required=True)
    part.add_argument("--json", type=Path)
    options = parser.parse_args()
    if "cases" in options:
        options.cases = chosen(options.cases, options.data)
    raise SystemExit(bool(options.work(options)))


if __name__ == "__main__":
    main()
