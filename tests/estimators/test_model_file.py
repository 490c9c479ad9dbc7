"""Model files: what is saved comes back, what is damaged is refused in a sentence."""

import contextlib
import copy
import functools
import hashlib
import json
import operator
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError, ModelFileError
from pmcnet.estimators import model_file
from pmcnet.io.plain import labels_to_plain, plain


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = PMCNetRegressor(**QUICK).fit(*numbers())
    return model, model.save(tmp_path_factory.mktemp("models") / "m.pmcnet")


@pytest.fixture
def copied(saved, tmp_path):
    return shutil.copytree(saved[1], tmp_path / "copy")


def test_loaded_model_is_the_same(saved):
    model, path = saved
    loaded = PMCNetRegressor.load(path)
    x, _ = numbers(9, seed=1)
    assert (loaded.predict(x) == model.predict(x)).all()
    assert (loaded.predict_interval(x) == model.predict_interval(x)).all()
    assert loaded.verdict_ == model.verdict_
    assert loaded.history_[-1]["log_evidence"] == model.history_[-1]["log_evidence"]
    assert loaded.get_params() == model.get_params()
    assert loaded.posterior_.log_evidence == pytest.approx(model.posterior_.log_evidence)
    assert loaded.posterior_.log_evidence_error == model.posterior_.log_evidence_error


def test_effective_draws_of_chains_come_back_and_are_no_more_than_networks(tmp_path):
    options = {"n_chains": 2, "n_warmup": 2, "n_draws": 30, "max_leapfrog": 1, "n_epochs": 3}
    model = PMCNetRegressor(
        (3,), method="hmc", method_options=options, prior_std=1.0, random_state=0
    ).fit(*numbers())
    n_effective = model.posterior_.ess
    assert 0 < n_effective < 60
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert loaded.posterior_.ess == n_effective
    assert loaded.thinned(1).posterior_.ess == model.thinned(1).posterior_.ess == 1


def test_categories_classes_and_gaps_come_back(tmp_path):
    frame = pd.DataFrame({"city": ["rome", None, "oslo"] * 10, "size": [1.0, np.nan, 3.0] * 10})
    for labels in (
        ["no", "yes", "no"] * 10,
        [3, 5, 3] * 10,
        np.array(["u", "v", "u"] * 10, dtype=object),
    ):
        model = PMCNetClassifier(**QUICK).fit(frame, labels)
        loaded = PMCNetClassifier.load(model.save(tmp_path / "m"))
        assert (loaded.predict_proba(frame) == model.predict_proba(frame)).all()
        assert (loaded.predict(frame) == model.predict(frame)).all()
        assert loaded.classes_.dtype == model.classes_.dtype
        assert (loaded.feature_names_in_ == model.feature_names_in_).all()


def test_calibration_comes_back_without_the_library_that_made_it(tmp_path, monkeypatch):
    x, y = numbers()
    number = PMCNetRegressor(**QUICK, conformal=True).fit(x, y)
    kinds = PMCNetClassifier(**QUICK, conformal=True).fit(*classes())
    places = number.save(tmp_path / "number"), kinds.save(tmp_path / "kinds")
    monkeypatch.setitem(sys.modules, "mapie", None)
    monkeypatch.setitem(sys.modules, "mapie.conformity_scores", None)
    loaded, other = PMCNetRegressor.load(places[0]), PMCNetClassifier.load(places[1])
    for coverage in (0.5, 0.77, 0.9, 0.95):
        interval = loaded.predict_interval(x, coverage)
        assert (interval == number.predict_interval(x, coverage)).all()
        assert (other.predict_set(x, coverage) == kinds.predict_set(x, coverage)).all()


def test_two_files_and_no_pickle(saved):
    _, path = saved
    assert sorted(file.name for file in path.iterdir()) == ["model.json", "tensors.safetensors"]
    assert json.loads((path / "model.json").read_text())["version"] == 7


def test_saving_again_replaces_and_other_folders_are_left_alone(saved, tmp_path):
    model, _ = saved
    first = model.save(tmp_path / "m")
    assert model.save(first) == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="is not a pmcnet model"):
        model.save(tmp_path / "mine")


def test_truncated_tensors_are_refused(copied):
    file = copied / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="damaged or was changed"):
        PMCNetRegressor.load(copied)


def test_edited_json_is_refused(copied):
    file = copied / "model.json"
    file.write_text(file.read_text().replace('"y_std": ', '"y_std": 1'))
    with pytest.raises(ModelFileError, match="was changed after it was written"):
        PMCNetRegressor.load(copied)


def test_truncated_json_is_refused(copied):
    file = copied / "model.json"
    file.write_text(file.read_text()[:200])
    with pytest.raises(ModelFileError, match="damaged or truncated"):
        PMCNetRegressor.load(copied)


def rewritten(folder, **changes):
    """Change the record and sign it again, as a newer or malicious writer would."""
    file = folder / "model.json"
    record = json.loads(file.read_text()) | changes
    record["fingerprint"] = model_file.fingerprint(record)
    file.write_text(json.dumps(record))


def test_newer_version_is_refused(copied):
    rewritten(copied, version=99)
    with pytest.raises(ModelFileError, match="Upgrade pmcnet"):
        PMCNetRegressor.load(copied)


def encoder_of_version_4(encoder):
    """As it was written when columns were numbers or categories and none was left out."""
    columns = encoder["columns"]
    return {
        "kind": "table",
        "columns": [
            {
                "name": column["name"],
                "kind": "number" if column["kind"] == "number" else "text",
                "levels": column.get("levels", []),
            }
            for column in columns
        ],
        "mean": [column.get("mean", 0.0) for column in columns],
        "std": [column.get("std", 1.0) for column in columns],
        "shares": [column.get("shares", []) for column in columns],
        "flagged": encoder["flagged"],
    }


def test_file_from_before_columns_had_kinds_is_read(tmp_path):
    frame = pd.DataFrame({"city": ["rome", None, "oslo"] * 10, "size": [1.0, np.nan, 3.0] * 10})
    model = PMCNetClassifier(**QUICK).fit(frame, ["no", "yes", "so"] * 10)
    path = model.save(tmp_path / "m")
    record = json.loads((path / "model.json").read_text())
    rewritten(path, encoder=encoder_of_version_4(record["encoder"]), version=4)
    loaded = PMCNetClassifier.load(path)
    assert loaded.encoder_ == model.encoder_
    assert (loaded.predict_proba(frame) == model.predict_proba(frame)).all()


def test_file_from_before_likelihoods_had_names_is_read(saved, copied):
    record = json.loads((copied / "model.json").read_text())
    settings, fitted = record["settings"], record["fitted"]
    assert (settings.pop("likelihood"), settings["noise"]) == ("auto", "auto")
    for name in ("likelihood_", "noise_", "formulation_reason_", "comparisons_"):
        del fitted[name]
    encoder = encoder_of_version_4(record["encoder"])
    settings |= {"noise": "learn"}
    rewritten(copied, settings=settings, fitted=fitted, encoder=encoder, version=2)
    loaded, (x, _) = PMCNetRegressor.load(copied), numbers(9, seed=1)
    assert (loaded.likelihood_, loaded.noise_) == ("gaussian", "learn")
    assert (loaded.predict_interval(x) == saved[0].predict_interval(x)).all()


def test_likelihood_that_is_not_known_is_refused(copied):
    record = json.loads((copied / "model.json").read_text())
    rewritten(copied, settings=record["settings"] | {"likelihood": "magic"})
    with pytest.raises(
        ModelFileError, match=r"likelihood must be one of gaussian, .*; got 'magic'"
    ):
        PMCNetRegressor.load(copied)
    rewritten(copied, settings=record["settings"], likelihood={"kind": "Categorical"})
    with pytest.raises(ModelFileError, match="no likelihood of numbers is called 'Categorical'"):
        PMCNetRegressor.load(copied)


def test_other_kind_is_refused(saved, copied):
    with pytest.raises(ModelFileError, match=r"Use PMCNetRegressor\.load"):
        PMCNetClassifier.load(saved[1])
    rewritten(copied, format="something")
    with pytest.raises(ModelFileError, match="JSON of another kind"):
        PMCNetRegressor.load(copied)


def test_missing_parts_are_refused(copied, tmp_path):
    with pytest.raises(ModelFileError, match=r"has no model\.json"):
        PMCNetRegressor.load(tmp_path / "nowhere")
    rewritten(copied, encoder={"kind": "spell"})
    with pytest.raises(InputError, match="no encoder is called"):
        PMCNetRegressor.load(copied)
    (copied / "tensors.safetensors").unlink()
    with pytest.raises(InputError):
        PMCNetRegressor.load(copied)


def test_network_that_does_not_fit_is_refused(copied):
    record = json.loads((copied / "model.json").read_text())
    rewritten(copied, settings=record["settings"] | {"hidden_layer_sizes": [9]})
    with pytest.raises(ModelFileError, match="does not fit"):
        PMCNetRegressor.load(copied)


def test_own_module_is_given_again(tmp_path):
    def make(n_inputs, n_outputs):
        return nn.Sequential(
            nn.Linear(n_inputs, 2), nn.Tanh(), nn.BatchNorm1d(2), nn.Linear(2, n_outputs)
        )

    module = make(3, 1)
    module[2].running_mean += torch.tensor([0.3, -0.2])
    x, y = classes(30)
    model = PMCNetClassifier(**QUICK, module=module).fit(x, y)
    path = model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="Pass module= again"):
        PMCNetClassifier.load(path)
    loaded = PMCNetClassifier.load(path, module=make)
    assert np.allclose(loaded.predict_proba(x), model.predict_proba(x))


ODD = ("x", -1, 0, None, [], {}, 10**12, 1e308, [1, "a"])


def places(value, path=()):
    """Every place in a record, two of each list."""
    if path:
        yield path
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:2])
        if isinstance(value, list)
        else ()
    )
    for key, item in entries:
        yield from places(item, (*path, key))


@pytest.mark.filterwarnings("ignore:cells unlike those of training")
def test_odd_values_anywhere_are_refused_in_a_sentence_or_harmless(tmp_path):
    frame = pd.DataFrame({"city": ["rome", None, "oslo"] * 10, "size": [1.0, np.nan, 3.0] * 10})
    frame["price"] = [f"€ {i}.500" for i in range(30)]
    asked = QUICK | {"column_types": {"price": "log-number"}}
    path = PMCNetClassifier(**asked).fit(frame, ["no", "yes", "so"] * 10).save(tmp_path / "m")
    record = json.loads((path / "model.json").read_text())
    record["fitted"]["history_"] = []
    checked_later = {
        ("fitted", "n_features_in_"),
        *(place for place in places(record) if "feature_names" in place),
    }
    for place in set(places(record)) - checked_later:  # those scikit-learn compares with the rows
        for odd in ODD:
            changed = copy.deepcopy(record)
            functools.reduce(operator.getitem, place[:-1], changed)[place[-1]] = odd
            rewritten(path, **changed)
            with contextlib.suppress(InputError):
                assert np.isfinite(PMCNetClassifier.load(path).predict_proba(frame)).all(), (
                    place,
                    odd,
                )


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": NaN}'])
def test_json_that_is_none_is_refused(copied, text):
    (copied / "model.json").write_text(text)
    with pytest.raises(ModelFileError, match="cannot be read"):
        PMCNetRegressor.load(copied)


def test_networks_that_are_not_finite_are_refused(copied):
    tensors = load_file(copied / "tensors.safetensors")
    tensors["theta"][0, 0] = torch.nan
    save_file(tensors, copied / "tensors.safetensors")
    record = json.loads((copied / "model.json").read_text())
    checksum = hashlib.sha256((copied / "tensors.safetensors").read_bytes()).hexdigest()
    rewritten(copied, tensors=record["tensors"] | {"sha256": checksum})
    with pytest.raises(ModelFileError, match="not finite"):
        PMCNetRegressor.load(copied)


def test_images_come_back_with_their_shape(tmp_path):
    images = np.random.default_rng(0).normal(size=(12, 1, 4, 4))

    def module(shape, n_outputs):
        return torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(int(np.prod(shape)), n_outputs)
        )

    options = {
        "method": "adam-map",
        "method_options": {"n_epochs": 2},
        "prior_std": 1.0,
        "random_state": 0,
    }
    model = PMCNetRegressor(**options, module=module, device="cpu").fit(
        images, images.sum((1, 2, 3))
    )
    path = model.save(tmp_path / "model")
    assert np.array_equal(
        PMCNetRegressor.load(path, module=module).predict(images), model.predict(images)
    )
    record = json.loads((path / "model.json").read_text())
    for changes, words in (
        ({"feature_names": ["a"] * 16}, "images have no feature names"),
        (
            {"encoder": record["encoder"] | {"shape": [1, 4, 5]}},
            "parts of its encoder do not agree",
        ),
    ):
        rewritten(path, **record | changes)
        with pytest.raises(ModelFileError, match=words):
            PMCNetRegressor.load(path, module=module)


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j])
def test_what_json_has_no_word_for_is_not_written(value):
    with pytest.raises(
        InputError, match=f"{type(value).__name__} cannot be written to a model file"
    ):
        plain({"a": [value]})


def test_classes_of_mixed_types_are_not_written():
    with pytest.raises(InputError, match="classes of type object cannot be written"):
        labels_to_plain(np.array([1, "a"], dtype=object))
