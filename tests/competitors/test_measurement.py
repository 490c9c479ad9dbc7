"""A competitor in a process of its own: what comes back, and what ends it."""

import subprocess
import sys

import numpy as np
import pytest

from pmcnet.competitors import COMPETITORS, RowPredictions, Rows
from pmcnet.competitors.measurement import SplitRows, measured, measured_by
from pmcnet.errors import CompetitorFailed


def rows(n=60, width=2):
    source = np.random.default_rng(0)
    x = source.normal(size=(n, width))
    y = x[:, 0] + 0.1 * source.normal(size=n)
    return SplitRows(Rows(x[:40]), y[:40], Rows(x[40:]), y[40:])


def test_child_gives_what_the_model_gives_with_its_costs():
    given = rows()
    found = measured("linear", "regression", given, seed=0, limit=60)
    fitted = COMPETITORS["linear"].regression.fit(given.x_train, given.y_train, 0)
    direct = fitted.predict(given.x_test)
    np.testing.assert_allclose(found.rows.mean, direct.mean)
    np.testing.assert_allclose(found.rows.log_density, direct.log_density(given.y_test))
    assert found.rows.probability is None
    assert 0 < found.fit_seconds < 60
    assert 0 < found.predict_seconds < 60
    assert found.peak_mib is None or 20 < found.peak_mib < 5000
    assert found.versions.startswith("scikit-learn ")


def test_fit_that_takes_too_long_is_ended():
    with pytest.raises(CompetitorFailed, match=r"fit and prediction took more than 0\.001 s"):
        measured("random-forest", "regression", rows(), seed=0, limit=0.001)


def test_error_of_a_library_is_one_line():
    given = rows()
    given.x_train.values[0, 0] = np.nan
    with pytest.raises(CompetitorFailed, match="ValueError: ") as caught:
        measured("linear", "regression", given, seed=0, limit=60)
    assert "\n" not in str(caught.value)


def test_process_that_dies_or_writes_nonsense_is_a_failure(tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit(7)"]
    with pytest.raises(CompetitorFailed, match="ended with status 7"):
        measured_by(command, rows(), seed=0, limit=1)
    text = "import sys, numpy as np; np.savez(sys.argv[2], mean=np.full(20, np.nan))"
    with pytest.raises(CompetitorFailed, match="not finite: mean"):
        measured_by([sys.executable, "-c", text], rows(), seed=0, limit=1)


def test_competitors_are_imported_without_torch():
    text = "import sys, pmcnet.competitors.child; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "pmcnet.competitors.registry" in modules
    assert not modules & {"torch", "sklearn", "pandas", "matplotlib"}


def test_all_parts_of_a_prediction_may_be_missing():
    assert RowPredictions() == (None, None, None, None)
