"""The bank of reference posteriors: its cases, and how stated errors are compared."""

import json
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = str(Path(__file__).parents[2] / "benchmarks")
sys.path.append(SCRIPTS)
bank = import_module("bank")
cases = import_module("bank_cases")
sys.path.remove(SCRIPTS)  # it has modules named like folders of tests

BY_NAME = {case.name: case for case in cases.CASES}
REGRESSION, CLASSES = BY_NAME["sine-5-tanh"], BY_NAME["iris-4-tanh"]
REFERENCE = {"fingerprint": np.ones(3), "how": "by hand", "reason": "", "rhat": 1.0, "seconds": 0.0}
PLAIN = {"status": "trustworthy", "limit": 0.05, "limit_upper": 0.1, "n_train": 40, "seconds": 1.0}


def reference(mean, error, std) -> dict:
    return {**REFERENCE, "mean": mean, "standard_error": np.full_like(mean, error), "std": std}


def a_run(mean, error, std, n_islands=8, **others) -> dict:
    arrays = {"mean": mean, "standard_error": np.full_like(mean, error), "std": std}
    return {**PLAIN, **arrays, "fingerprint": np.ones(3), "n_islands": n_islands, **others}


def files_of(folder: Path, case, stored: dict, runs: list[dict]) -> Namespace:
    bank.store(folder / "references" / f"{case.name}.npz", stored)
    for seed, run in enumerate(runs):
        bank.store(folder / "runs" / f"{case.name}-{seed}.npz", run)
    parts = {name: folder / name for name in ("references", "runs")}
    return Namespace(**parts, json=folder / "bank.json")


def test_cases_are_many_and_mostly_small():
    dims = np.array([case.dim for case in cases.CASES])
    assert len(cases.CASES) == len(BY_NAME) == 28
    assert (dims.min(), (dims < 1000).sum() >= 24, (dims < 200).sum() >= 12) == (17, True, True)
    assert dims[[case.reference == "nuts" for case in cases.CASES]].max() <= 200
    assert {len(case.hidden) for case in cases.CASES} == {1, 2}
    assert {min(case.hidden) for case in cases.CASES} >= {3}
    assert max(max(case.hidden) for case in cases.CASES) == 50
    assert {case.activation for case in cases.CASES} == {"tanh", "relu", "silu"}
    assert {case.prior for case in cases.CASES} == {"gaussian", "layer"}


@pytest.mark.parametrize(
    "case", [c for c in cases.CASES if not c.needs_files], ids=lambda c: c.name
)
def test_problem_is_standardised_and_of_the_stated_size(case):
    problem = case.problem()
    x, y = problem.target.x, problem.target.y
    assert (problem.target.dim, len(x)) == (case.dim, case.n_rows)
    assert 64 <= len(problem.x) <= 128
    assert x.mean(0).abs().max() < 1e-5
    if case.n_classes:
        assert set(y.tolist()) == set(range(case.n_classes))
    else:
        assert (float(y.mean()), float(y.std(correction=0))) == pytest.approx((0, 1), abs=1e-5)


def test_table_of_a_file_is_that_of_the_first_split(tmp_path):
    source = np.random.default_rng(0)
    x, y = source.standard_normal((100, 8)), source.standard_normal(100)
    order = source.permutation(100)
    train, test = order[None, :30].repeat(2, 0), order[None, 30:].repeat(2, 0)
    (tmp_path / "uci").mkdir()
    np.savez(tmp_path / "uci" / "energy.npz", X=x, y=y, index_train=train, index_test=test)
    problem = BY_NAME["energy-20x20-silu"].problem(tmp_path)
    own, others = x[order[:30]], x[order[30:]]
    expected = (others - own.mean(0)) / own.std(0)
    np.testing.assert_allclose(problem.x.numpy(), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(bank.InputError, match="--data"):
        BY_NAME["energy-20x20-silu"].problem()


def test_true_error_of_a_regression_is_pooled_over_seeds(tmp_path):
    """Errors of 5 and 3 at every row with 8 islands, the reference's own is 1 and sigma 10."""
    zero, std = np.zeros((64, 1)), np.full(64, 10.0)
    runs = [a_run(zero + 5, 2.0, std), a_run(zero - 3, 0.5, std, status="doubtful")]
    bank.compare(options := files_of(tmp_path, REGRESSION, reference(zero, 1.0, std), runs))
    found = json.loads(options.json.read_text())
    (row,) = found["rows"]
    assert row["true"] == pytest.approx(np.sqrt((25 + 9) / 2 - 1) / 10)  # 0.4
    assert (row["reference_error"], row["resolved"]) == (pytest.approx(0.1), True)
    assert [run["ratio"] for run in row["runs"]] == pytest.approx([0.5, 0.125])
    assert [run["error"] for run in row["runs"]] == pytest.approx([0.5, 0.3])
    assert row["n_right"] == 1
    assert found["summary"]["all"] == {"n_runs": 2, "n_right": 1, "share_right": 0.5}
    assert found["summary"]["confusion"]["doubtful"] == {
        "within the limits": 0,
        "above a limit": 0,
        "above twice a limit": 1,
    }


def test_runs_with_more_islands_count_as_more_accurate():
    """Errors of 2 with 8 islands and of 1 with 32 are one error per island."""
    zero, std = np.zeros((64, 1)), np.ones(64)
    runs = [a_run(zero + 2, 2.0, std, 8), a_run(zero + 1, 1.0, std, 32)]
    row = bank.compared(REGRESSION, reference(zero, 0.0, std), runs)
    assert row["true"] == pytest.approx(np.sqrt(8 * 4 / 20))
    assert [run["ratio"] for run in row["runs"]] == pytest.approx([1, 1])


def test_error_of_classes_is_a_total_variation():
    """Of two outputs out of three, in both runs; the stated one of all three is half of 0.3 x 3."""
    mean = np.full((64, 3), 1 / 3)
    off = np.array([0.02, -0.02, 0])
    runs = [a_run(mean + off, 0.01, np.ones(64)), a_run(mean - off, 0.04, np.ones(64))]
    row = bank.compared(CLASSES, reference(mean, 0.0, np.ones(64)), runs)
    assert (row["true"], row["runs"][0]["error"]) == pytest.approx((0.02, 0.02))
    assert [run["stated"] for run in row["runs"]] == pytest.approx([0.015, 0.06])
    assert [run["excess"] for run in row["runs"]] == ["within the limits"] * 2
    assert row["n_right"] == 1


def test_gaussian_estimates_with_their_exact_error_are_right():
    """Many rows, five seeds, a reference as uncertain as half a run."""
    source, std = np.random.default_rng(0), np.full(1000, 2.0)
    exact = source.standard_normal((1000, 1))
    estimates = exact + 0.1 * source.standard_normal((5, 1000, 1))
    stored = reference(exact + 0.05 * source.standard_normal((1000, 1)), 0.05, std)
    row = bank.compared(REGRESSION, stored, [a_run(mean, 0.1, std) for mean in estimates])
    assert row["ratio"] == pytest.approx(1, abs=0.15)
    assert row["n_right"] == 5


def test_run_without_islands_states_nothing_and_is_left_out_of_the_share(tmp_path):
    zero, std = np.zeros((64, 1)), np.ones(64)
    lost = a_run(zero + 9, np.inf, std, 0, status="degenerate")
    runs = [a_run(zero + 0.01, 0.01, std), lost]
    bank.compare(options := files_of(tmp_path, REGRESSION, reference(zero, 0.0, std), runs))
    found = json.loads(options.json.read_text())
    assert found["summary"]["all"]["n_runs"] == 1
    assert found["rows"][0]["true"] == pytest.approx(0.01)
    assert found["rows"][0]["runs"][1]["stated"] is None
    assert found["summary"]["confusion"]["degenerate"]["above twice a limit"] == 1


def test_references_of_other_rows_are_refused():
    zero, std = np.zeros((64, 1)), np.ones(64)
    other = a_run(zero, 0.1, std) | {"fingerprint": np.full(3, 2.0)}
    with pytest.raises(bank.InputError, match="different rows"):
        bank.compared(REGRESSION, reference(zero, 0.0, std), [other])


def test_fit_is_stored_and_compared(tmp_path):
    """Against a reference that is the run itself, moved by a tenth of the predictive deviation."""
    options = Namespace(data=None, out=tmp_path / "runs", seconds=30.0, method="annealed")
    line = bank.fit_one(CLASSES, 3, options, np.inf)
    run = bank.load(tmp_path / "runs" / f"{CLASSES.name}-3.npz")
    assert line.startswith(f"{CLASSES.name} (d = 35), seed 3: {run['n_islands']} islands")
    assert (run["mean"].shape, run["seed"]) == ((70, 3), 3)
    np.testing.assert_allclose(run["mean"].sum(1), 1, atol=1e-6)
    moved = run["mean"] + np.array([0.1, -0.1, 0])
    stored = reference(moved, 0.0, np.ones(70)) | {"fingerprint": run["fingerprint"]}
    row = bank.compared(CLASSES, stored, [run])
    assert row["runs"][0]["error"] == pytest.approx(0.1)
    assert row["runs"][0]["excess"] == "above twice a limit"
    if run["n_islands"]:
        factor = bank.bank_cases.student_factor(run["n_islands"])
        expected = np.sqrt(2 / np.pi) * factor * 0.5 * run["standard_error"].sum(1)
        np.testing.assert_allclose(run["stated"], expected)
        assert row["true"] == pytest.approx(0.1)


def test_run_that_exists_is_skipped(tmp_path, capsys):
    options = {"cases": [REGRESSION], "seeds": "0", "out": tmp_path, "budget_seconds": 60.0}
    bank.store(path := tmp_path / f"{REGRESSION.name}-0.npz", {"seed": 0})
    before = path.read_bytes()
    assert not bank.make_runs(Namespace(**options, jobs=1, threads=1, seconds=1.0, data=None))
    assert path.read_bytes() == before
    assert "0 runs were missing" in capsys.readouterr().out


def test_nothing_is_begun_after_the_budget(tmp_path):
    assert bank.fit_one(REGRESSION, 0, Namespace(out=tmp_path), 0.0) == ""
    assert not list(tmp_path.iterdir())


def test_missing_nuts_is_said_of_the_case(tmp_path, monkeypatch, capsys):
    library = type(cases.NUTS).library._replace(module="no_such_module")
    monkeypatch.setattr(type(cases.NUTS), "library", library)
    sizes = {"particles": 8, "islands": 2, "nuts_draws": 4, "minutes": 1.0, "kind": None}
    options = Namespace(cases=[REGRESSION], out=tmp_path, data=None, device="cpu", **sizes)
    assert bank.make_references(options) == 1
    assert REGRESSION.name in capsys.readouterr().out


def test_reference_by_islands_holds_what_is_compared(tmp_path):
    sizes = {"particles": 8, "islands": 4, "nuts_draws": 4, "minutes": 1.0, "kind": "islands"}
    options = Namespace(cases=[CLASSES], out=tmp_path, data=None, device="cpu", **sizes)
    assert not bank.make_references(options)
    stored = bank.load(tmp_path / f"{CLASSES.name}.npz")
    assert stored["mean"].shape == stored["standard_error"].shape == (70, 3)
    assert "n_islands=4" in stored["how"]


def test_chains_are_stored_as_islands_are(tmp_path):
    options = Namespace(data=None, out=tmp_path, seconds=3.0, method="hmc")
    line = bank.fit_one(CLASSES, 0, options, np.inf)
    run = bank.load(tmp_path / f"{CLASSES.name}-0.npz")
    assert str(run["status"]) in line
    assert run["mean"].shape == run["standard_error"].shape
    assert run["n_islands"] in (8, 16)
    assert not np.isfinite(run["log_evidence"])
