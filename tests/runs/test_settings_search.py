"""Settings chosen on validation rows: which rows, which choices, which seed."""

import numpy as np
import pandas as pd
import pytest

from pmcnet.errors import InputError
from pmcnet.methods.registry import METHODS
from pmcnet.methods.training.state import EpochInfo
from pmcnet.reports.progress import FitProgress
from pmcnet.runs import settings_search
from pmcnet.runs.config import RunSettings
from pmcnet.runs.prepare import prepare
from pmcnet.runs.settings_search import (
    described,
    tuned,
    tuning_record,
    validation_nll,
    validation_of,
)


def a_table(folder, n=60):
    """Each row has a number of its own."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=n)
    frame = pd.DataFrame(
        {"row": np.arange(n), "x": x, "y": np.where(x + draw.normal(size=n) > 0, "yes", "no")}
    )
    frame.to_csv(folder / "rows.csv", index=False)
    return RunSettings(
        data=str(folder / "rows.csv"), target="y", hidden=(2,), device="cpu", method="bbp", seed=7
    )


class Lines(FitProgress):
    """What was said."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def stage(self, text):
        self.lines.append(text)

    def __call__(self, state, info):
        assert info.epoch < info.n_epochs


@pytest.fixture
def losses(monkeypatch):
    """Models that are not fitted; what each was made from and shown, with a given loss."""
    seen = {"settings": [], "fitted": [], "judged": [], "losses": iter(())}

    class Model:
        def fit_with(self, x, y, *, observers):
            seen["fitted"].append(set(x["row"]))
            for epoch in (1, 2):
                observers[0](None, EpochInfo(epoch, 2, "fit", None, 0.1))

    def unfitted(settings, task):
        seen["settings"].append(settings)
        return Model()

    def loss(model, x, y, second):
        seen["judged"].append(set(x["row"]))
        return next(seen["losses"])

    monkeypatch.setattr(settings_search, "unfitted", unfitted)
    monkeypatch.setattr(settings_search, "validation_nll", loss)
    return seen


def test_validation_rows_are_training_rows_and_never_test_rows(tmp_path, losses):
    settings = a_table(tmp_path)
    prepared = prepare(settings)
    losses["losses"] = iter(range(6))
    tuned(settings, validation_of(prepared), shown=Lines())
    training, testing = set(prepared.x_train["row"]), set(prepared.x_test["row"])
    for fitted, judged in zip(losses["fitted"], losses["judged"], strict=True):
        assert fitted | judged == training
        assert not fitted & judged
        assert not (fitted | judged) & testing
        assert len(judged) == round(0.2 * len(training))
    assert len({frozenset(rows) for rows in losses["judged"]}) == 1


def test_best_choice_is_taken_with_the_seed_of_the_run(tmp_path, losses):
    settings, shown = a_table(tmp_path), Lines()
    losses["losses"] = iter([0.5, float("nan"), 0.2, 0.3, float("inf"), 0.2])
    found = tuned(settings, validation_of(prepare(settings)), shown=shown)
    assert [one.method_options["early_stopping"] for one in losses["settings"]] == [True] * 3 + [
        False
    ] * 3
    assert [one.prior_std for one in losses["settings"]] == [0.5, 1.0, 3.0] * 2
    assert {one.seed for one in losses["settings"]} == {8}
    assert found.choice == {"early_stopping": True, "learning_rate": 3e-3, "prior_std": 3.0}
    assert (found.settings.prior_std, found.settings.seed) == (3.0, 7)
    assert dict(found.settings.method_options) == {"early_stopping": True, "learning_rate": 3e-3}
    assert [trial["validation_nll"] for trial in found.trials] == [0.5, None, 0.2, 0.3, None, 0.2]
    choice = "early_stopping True, learning_rate 0.003, prior_std 3"
    assert shown.lines[2] == f"bbp, choice 3 of 6, {choice}: validation NLL 0.2"
    assert found.seconds > 0


def test_prior_that_is_given_stays_and_equal_choices_are_tried_once(tmp_path, losses):
    settings = a_table(tmp_path)
    rows = validation_of(prepare(settings))
    losses["losses"] = iter([0.5, 0.2])
    found = tuned(RunSettings(**{**vars(settings), "prior_std": 2.0}), rows, shown=Lines())
    assert found.choice == {"early_stopping": False, "learning_rate": 3e-3, "prior_std": 2.0}
    assert len(found.trials) == 2
    alone = tuned(
        RunSettings(**{**vars(settings), "prior_std": 2.0, "method": "nuts"}), rows, shown=Lines()
    )
    assert (alone.choice, alone.trials, alone.seconds) == ({"prior_std": 2.0}, [], 0.0)


def test_too_few_rows_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match=r"at least 20 training rows; got 16\. Use --tune none"):
        validation_of(prepare(a_table(tmp_path, 20)))


def test_rows_of_their_own_class_cannot_be_held_out(tmp_path):
    frame = pd.DataFrame({"x": np.arange(40.0), "y": [f"class {i % 4}" for i in range(40)]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    prepared = prepare(
        RunSettings(data=str(tmp_path / "rows.csv"), target="y", test_share=0.0, seed=2)
    )
    prepared = prepared._replace(y_train=np.array([f"class {i}" for i in range(40)]))
    with pytest.raises(InputError, match="no rows can be held out for tuning"):
        validation_of(prepared)


def test_loss_is_the_log_likelihood_of_the_averaged_prediction(tmp_path):
    from pmcnet import PMCNetClassifier, PMCNetRegressor

    draw = np.random.default_rng(0)
    x = draw.normal(size=(40, 2))
    y = x[:, 0] + 0.1 * draw.normal(size=40)
    quick = {
        "hidden_layer_sizes": (2,),
        "method": "bbp",
        "method_options": {"n_epochs": 5},
        "prior_std": 1.0,
    }
    model = PMCNetClassifier(**quick, random_state=0).fit(x, np.where(y > 0, "up", "down"))
    truth = np.where(y > 0, "up", "down")[:9]
    expected = -np.log(model.predict_proba(x[:9])[np.arange(9), (truth == "up").astype(int)]).mean()
    assert validation_nll(model, x[:9], truth) == pytest.approx(expected)
    other = PMCNetRegressor(**quick, random_state=0).fit(x, y)
    assert validation_nll(other, x[:9], y[:9]) == pytest.approx(
        -other.log_predictive(x[:9], y[:9]).mean()
    )


def test_method_without_a_prior_tells_none():
    class Model:
        method_ = "adam-mle"

    found = settings_search.TunedSettings(
        RunSettings(data="wine"), METHODS["adam-mle"].grid[0], [], 1.0
    )
    assert tuning_record(Model(), found)["chosen"] == {
        "early_stopping": True,
        "learning_rate": 1e-3,
    }


def test_choice_in_words():
    assert described({"learning_rate": 0.003, "subset": "all", "prior_std": 1.0}) == (
        "learning_rate 0.003, subset all, prior_std 1"
    )
