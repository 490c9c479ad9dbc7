"""The golden record: hashes of what every method computes, kept bit for bit while the code changes.

    OMP_NUM_THREADS=1 python tests/golden/record.py            # compare with the stored record
    OMP_NUM_THREADS=1 python tests/golden/record.py --write    # store

Every method of the registry on small problems with fixed seeds, a few options, the samplers on
known targets, a run that is interrupted and resumed, and a run of two processes. Bits depend on the
processor and on the version of torch, so the record is compared on the machine that wrote it; to
compare two versions of the code, write it with the one and check it with the other."""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from pmcnet import PMCNetClassifier, PMCNetRegressor, ais

STORED = Path(__file__).with_name("record.json")
Hashes = dict[str, str]

PMC = {"n_proposals": 8, "n_draws": 20, "n_steps": 4, "n_epochs": 5}
OPTIONS: dict[str, dict[str, Any]] = {
    "annealed": {"n_islands": 4, "n_particles": 8},
    "hmc": {
        "n_chains": 4,
        "n_warmup": 8,
        "n_draws": 8,
        "max_leapfrog": 16,
        "n_epochs": 5,
        "walk_epochs": 4,
    },
    **dict.fromkeys(("pmcnet", "pmcnet-light", "gradfree", "covfree", "dm-pmc", "sl-pmc"), PMC),
    **{key: {"n_epochs": 12} for key in ("adam-mle", "adam-map", "bbp", "mc-dropout")},
    "ensemble": {"n_epochs": 12, "n_members": 3},
    **{key: {"n_epochs": 30} for key in ("sgld", "psgld")},
    "sghmc": {"n_epochs": 30, "n_chains": 3},
    "sae": {"n_epochs": 8, "n_members": 4, "n_next_epochs": 3, "n_chains": 2},
    "laplace": {"n_iterations": 50},
    "nuts": {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "max_depth": 4},
}
VARIED: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("annealed evidence", "annealed", {}, {"prior_std": "evidence"}),
    ("annealed validation", "annealed", {}, {"prior_std": "validation"}),
    (
        "annealed moves",
        "annealed",
        {"n_moves": "auto", "max_moves": 2},
        {"prior": "layer", "feature_scaling": "none"},
    ),
    ("pmcnet validation", "pmcnet", {}, {"prior_std": "validation"}),
    ("pmcnet all draws", "pmcnet", {"keep": "mixture"}, {}),
    (
        "light equal",
        "pmcnet-light",
        {"weights": "equal", "start": "jitter"},
        {"activation": "relu"},
    ),
    ("hmc validation", "hmc", {"walk_epochs": 0}, {"prior_std": "validation"}),
    ("ensemble validation", "ensemble", {}, {"prior_std": "validation", "prior": "laplace"}),
    ("sghmc kronecker", "sghmc", {"metric": "kronecker"}, {}),
    ("two layers", "annealed", {}, {"hidden_layer_sizes": (4, 3), "activation": "silu"}),
]


def hashed(*arrays: Any) -> str:
    """SHA-256 of arrays, their shapes and types; the first 16 digits."""
    digest = hashlib.sha256()
    for array in arrays:
        value = np.ascontiguousarray(
            array.detach().cpu().numpy() if isinstance(array, torch.Tensor) else array
        )
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    return digest.hexdigest()[:16]


def rows(task: str) -> tuple[np.ndarray, np.ndarray]:
    """A small table with a missing value, and its target."""
    source = np.random.default_rng(7)
    x = source.normal(size=(60, 3))
    x[5, 1] = np.nan
    signal_ = np.sin(x[:, 0]) + np.nan_to_num(x[:, 1]) * x[:, 2]
    if task == "regression":
        return x, 10 + 3 * signal_ + source.normal(size=60) * 0.3
    n_classes = 2 if task == "binary" else 3
    return x, np.digitize(signal_, [0.0] if n_classes == 2 else [-0.5, 0.5])


def fitted(task: str, method: str, options: dict[str, Any], **settings: Any) -> Hashes:
    """Hashes of one estimator."""
    x, y = rows(task)
    kind = PMCNetRegressor if task == "regression" else PMCNetClassifier
    common = {
        "hidden_layer_sizes": (4,),
        "prior_std": 1.0,
        "random_state": 3,
        "device": "cpu",
        "budget": "10s",
    } | ({"noise": "learn"} if task == "regression" else {})
    model = kind(method=method, method_options=options, **(common | settings)).fit(x, y)
    if task == "regression":
        mean, std = model.predict(x, return_std=True)
        shown = [
            mean,
            std,
            model.predict_interval(x),
            model.predict_draws(x, 5, 1),
            model.sample_y(x, 3, 1),
        ]
        shown.append(model.log_predictive(x, y))
    else:
        shown = [model.predict_proba(x), model.predict_draws(x, 5, 1)]
    posterior = model.posterior_
    numbers = [
        posterior.ess,
        posterior.khat,
        posterior.log_evidence,
        posterior.log_evidence_error,
        model.prior_std_,
    ]
    return {
        "draws": hashed(posterior.theta),
        "weights": hashed(posterior.log_weight),
        "predictions": hashed(*shown, *model.uncertainty(x)),
        "diagnostics": hashed(np.array(numbers)),
        "history": hashed(np.array(history_numbers(model.history_))),
        "status": model.verdict_.status,
    }


def history_numbers(history: list[dict[str, Any]]) -> list[float]:
    """The numbers of a history that do not depend on the clock, smallest first within a line."""
    lines = []
    for line in history:
        kept = [
            v
            for k, v in line.items()
            if not k.startswith("seconds") and k != "memory" and v is not None
        ]
        lines.extend(sorted(float(v) for v in kept))
    return lines


def estimators() -> Iterator[tuple[str, Callable[[], Hashes]]]:
    """Every method on both tasks, then the variations."""
    for method, options in OPTIONS.items():
        for task in ("binary", "regression"):
            yield f"{method}, {task}", lambda t=task, m=method, o=options: fitted(t, m, o)
    for name, method, more, settings in VARIED:
        options = OPTIONS[method] | more
        for task in ("classes", "regression"):
            yield (
                f"{name}, {task}",
                lambda t=task, m=method, o=options, s=settings: fitted(t, m, o, **s),
            )


def variant(name: str) -> Hashes:
    """A variant of the paper on the five-mode target."""
    loc = 4 * torch.rand(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 2
    algorithm = ais.VARIANTS[name]
    result = ais.run(
        algorithm,
        ais.analytic.five_modes().target,
        algorithm.init(loc, sigma=5.0, seed=1),
        n_steps=5,
    )
    return {"draws": hashed(result.samples.theta), "weights": hashed(result.samples.log_weight)}


def annealed() -> Hashes:
    """The annealed sampler from a wide Gaussian to the banana."""
    known = ais.analytic.banana(4)
    base = torch.zeros(1, 4, dtype=torch.float64)
    bridge = ais.Bridge(known.target, ais.Proposals(base, ais.Diagonal.isotropic(5.0, base)))
    result = ais.AnnealedPMC(n_particles=64).run(bridge, seed=2)
    return {"draws": hashed(result.samples.theta), "weights": hashed(result.samples.log_weight)}


def samplers() -> Iterator[tuple[str, Callable[[], Hashes]]]:
    """Samplers on known targets."""
    for name in ais.VARIANTS:
        yield f"{name}, five modes", lambda n=name: variant(n)
    yield "annealed, banana", annealed


FIT = [
    "-m",
    "pmcnet",
    "fit",
    "wine",
    "--hidden",
    "3",
    "--prior-std",
    "1",
    "--device",
    "cpu",
    "--passes",
    "10",
]
RUNS = {
    "annealed": ("n_islands=4", "n_particles=12"),
    "hmc": (
        "n_chains=4",
        "n_warmup=20",
        "n_draws=20",
        "max_leapfrog=20",
        "n_epochs=30",
        "walk_epochs=10",
    ),
    "pmcnet": ("n_proposals=8", "n_draws=20", "n_epochs=20", "n_steps=25"),
    "bbp": ("n_epochs=150",),
}
SHARED = ("annealed", "pmcnet")
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def command(method: str) -> list[str]:
    return [
        *FIT,
        "--method",
        method,
        *(word for text in RUNS[method] for word in ("--option", text)),
        "--out",
        "run",
    ]


def run_hashes(folder: Path) -> Hashes:
    """Of a finished run's model and predictions."""
    tensors = load_file(folder / "run" / "model" / "tensors.safetensors")
    text = (folder / "run" / "predictions.csv").read_bytes()
    return {
        **{n: hashed(t) for n, t in sorted(tensors.items())},
        "csv": hashlib.sha256(text).hexdigest()[:16],
    }


def alone(method: str, *, interrupted: bool) -> Hashes:
    """One process, which may be interrupted once and then resumed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PMCNET_CHECKPOINT_SECONDS": "0"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = subprocess.Popen(
            [sys.executable, *command(method)], cwd=folder, env=environment, **QUIET
        )
        checkpoint = folder / "run" / "checkpoint" / "previous.safetensors"
        while interrupted and job.poll() is None:
            if checkpoint.is_file():
                job.send_signal(signal.SIGKILL)
                break
            time.sleep(0.005)
        job.wait()
        if interrupted:
            assert job.returncode == -signal.SIGKILL, (
                f"{method} ended before it could be interrupted"
            )
            subprocess.run(
                [sys.executable, "-m", "pmcnet", "resume", "run"],
                cwd=folder,
                env=environment,
                check=True,
                **QUIET,
            )
        return run_hashes(folder)


def shared(method: str) -> Hashes:
    """Two processes."""
    with tempfile.TemporaryDirectory() as name:
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node=2",
        ]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        subprocess.run(
            [*torchrun, *command(method)], cwd=name, env=environment, check=True, **QUIET
        )
        return run_hashes(Path(name))


def runs() -> Iterator[tuple[str, Callable[[], Hashes]]]:
    """Runs of the command line."""
    for method in RUNS:
        yield f"run of {method}", lambda m=method: alone(m, interrupted=False)
        yield f"run of {method}, resumed", lambda m=method: alone(m, interrupted=True)
    for method in SHARED:
        yield f"run of {method}, two processes", lambda m=method: shared(m)


def record(only: str) -> dict[str, Hashes]:
    """Everything, or the cases whose name contains a text."""
    torch.set_num_threads(1)
    found: dict[str, Hashes] = {}
    for name, case in (*samplers(), *estimators(), *runs()):
        if only in name:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found[name] = case()
                except Exception as error:  # what cannot be fitted is part of the record
                    found[name] = {"error": type(error).__name__}
                    print(f"{name}: {error!s:.200}")  # noqa: T201
    return found


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--file", type=Path, default=STORED)
    given = parser.parse_args()
    found = record(given.only)
    if given.write:
        given.file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases written to {given.file}")  # noqa: T201
        return 0
    known = {
        name: hashes
        for name, hashes in json.loads(given.file.read_text()).items()
        if given.only in name
    }
    parts = {
        name: known.get(name, {}).keys() | found.get(name, {}).keys()
        for name in known.keys() | found.keys()
    }
    differing = {
        name: sorted(k for k in keys if known.get(name, {}).get(k) != found.get(name, {}).get(k))
        for name, keys in sorted(parts.items())
    }
    differing = {name: keys for name, keys in differing.items() if keys}
    for name, keys in differing.items():
        print(f"{name}: {', '.join(keys)} differ")  # noqa: T201
    print(f"{len(found)} cases compared, {len(differing)} differ")  # noqa: T201
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
