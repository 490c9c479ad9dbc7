"""Importance: which columns are worth something, and how much by closed form."""

import numpy as np
import pytest
import torch

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.estimators.explanations.importances import permuted_losses
from pmcnet.estimators.explanations.players import Players


@pytest.fixture(scope="module")
def model():
    return PMCNetRegressor(**QUICK, likelihood="gaussian", noise="learn").fit(*numbers())


def test_column_that_matters_is_first(model):
    x, y = numbers(seed=1)
    frame = model.importance(x, y, n_networks=8).frame
    assert frame["feature"].iloc[0] == "column 0"
    assert frame["low95"].iloc[0] > 1
    assert frame["averaged"].iloc[0] > 10 * frame["error"].iloc[0] / 3
    assert np.abs(frame["averaged"].iloc[1:]).max() < 0.5


class Lines:
    """Two networks y = w x with noise of standard deviation 1."""

    weight = torch.tensor([[1.0, 0.0], [2.0, 0.0]], dtype=torch.float64)

    def log_prob(self, inputs, targets):
        return (-0.5 * (targets - self.weight @ inputs.T).square()).numpy()


def test_losses_have_their_closed_form_by_network():
    """Of y = w x and a permuted column: w cov(x, y) - w^2 (mean x^2 - mean x x') by pairs."""
    source = np.random.default_rng(0)
    x = torch.as_tensor(source.normal(size=(5000, 2)))
    y = x[:, 0] + 0.1 * torch.as_tensor(source.normal(size=5000))
    players = Players(("a", "b"), torch.arange(2))
    each, by_row = permuted_losses(Lines(), players, x, y, 4, 0)
    expected = Lines.weight[:, 0].numpy()  # E (y - w x')^2 - E (y - w x)^2, by half: w
    assert np.abs(each[:, 0] - expected).max() < 5 * 2 * 2 / np.sqrt(4 * 5000) + 0.1
    assert (each[:, 1] == 0).all()
    assert (by_row[1] == 0).all()


def test_loss_of_the_averaged_prediction_is_that_of_its_log_density(model):
    """Against `log_predictive` of rows whose cells were shuffled as tables."""
    x, y = numbers(40, seed=2)
    networks = model.thinned(8)
    found = networks.importance(x, y, n_networks=8, n_repeats=1, random_state=3)
    order = np.random.Generator(np.random.Philox(key=[3, 0], counter=[0, 0, 2, 0])).permutation(40)
    shuffled = x.copy()
    shuffled[:, 0] = x[order, 0]
    again = networks.thinned(8)
    loss = again.log_predictive(x, y) - again.log_predictive(shuffled, y)
    assert found.averaged[0] == pytest.approx(loss.mean(), rel=1e-4)
    assert found.error[0] == pytest.approx(loss.std(ddof=1) / np.sqrt(40), rel=1e-4)


def test_shapley_sizes_rank_the_same_column_first(model):
    frame = model.importance(*numbers(seed=1), n_networks=8, shapley=True).frame
    assert frame["shapley"].idxmax() == 0
    assert (frame["shapley_low95"] <= frame["shapley"]).all()


def test_classes_have_importance():
    x, y = classes(n_classes=3)
    frame = PMCNetClassifier(**QUICK).fit(x, y).importance(x, y, n_networks=8).frame
    assert frame["feature"].iloc[0] == "column 0"


def test_relevance_stands_beside_importance():
    x, y = numbers()
    settings = QUICK | {"prior_std": "ard", "likelihood": "gaussian", "noise": "learn"}
    model = PMCNetRegressor(**settings).fit(x, y)
    frame = model.importance(x, y, n_networks=8).frame.set_index("feature")
    known = model.feature_relevance_.set_index("feature")["relevance"]
    assert np.allclose(frame["relevance"], known[frame.index])


def test_rows_and_responses_must_belong_together(model):
    x, y = numbers()
    with pytest.raises(InputError, match="X has 60 rows and y has 59"):
        model.importance(x, y[:-1])
    assert len(model.importance(x, y, n_networks=4).plot().axes) == 1
