"""What a fitted estimator must keep: finite numbers, probabilities that sum to 1, order."""

import numpy as np

from pmcnet import PMCNetClassifier, PMCNetRegressor

PMC = {"n_proposals": 3, "n_draws": 6, "n_steps": 2, "n_epochs": 2}
METHODS = {
    "annealed": {"n_islands": 2, "n_particles": 4, "ess_fraction": 0.1},
    "pmcnet": PMC,
    "pmcnet-light": PMC,
    "adam-map": {"n_epochs": 2},
    "sgld": {"n_epochs": 4, "n_kept": 4},
    "bbp": {"n_epochs": 4, "n_kept": 4},
    "mc-dropout": {"n_epochs": 4, "n_passes": 4},
    "sae": {"n_epochs": 2, "n_next_epochs": 1, "n_chains": 2, "n_members": 2},
}
LEVELS = [1e-6, 0.5, 1 - 1e-6]


def estimator(kind, method, options=None, **settings):
    own = {**METHODS[method], **(options or {})}
    common = {"hidden_layer_sizes": (3,), "prior_std": 1.0, "random_state": 0, "device": "cpu"}
    return kind(method=method, method_options=own, **(common | settings))


def check(model, x, y, *far):
    """Assert that everything that can be asked of the model about these rows is finite."""
    rows = np.concatenate([np.asarray(x), *far]) if far else x
    (_regressed if isinstance(model, PMCNetRegressor) else _classified)(model, rows)
    for part in model.uncertainty(rows):
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    assert np.isfinite(model.score(x, y))
    assert model.verdict_.status in ("trustworthy", "doubtful", "degenerate")
    assert "nan" not in model.verdict_.reason
    for record in model.history_:
        assert not any(isinstance(value, float) and np.isnan(value) for value in record.values())
    if isinstance(model, PMCNetRegressor):
        assert np.isfinite(model.log_predictive(x, y)).all()


def _regressed(model: PMCNetRegressor, x):
    mean, std = model.predict(x, return_std=True)
    quantiles, interval = model.predict_quantiles(x, LEVELS), model.predict_interval(x)
    shown = (mean, std, quantiles, interval, model.predict_draws(x, 5), model.sample_y(x, 3))
    assert all(np.isfinite(part).all() for part in shown)
    rounding = 1e-6 * np.abs(quantiles).max(1, keepdims=True)  # of networks in single precision
    assert (np.diff(quantiles, axis=1) >= -rounding).all()
    assert (interval[:, 1] >= interval[:, 0] - rounding[:, 0]).all()


def _classified(model: PMCNetClassifier, x):
    probability, draws = model.predict_proba(x), model.predict_draws(x, 5)
    for part in (probability, draws):
        assert (part >= 0).all()
        assert (part <= 1).all()
        assert np.allclose(part.sum(-1), 1, atol=1e-6)
    log_probability = model.predict_log_proba(x)
    assert np.isfinite(log_probability).all()
    assert np.allclose(np.exp(log_probability), probability, atol=1e-5)
    assert set(model.predict(x)) <= set(model.classes_)
