"""Model folders made to do harm: each is refused in a sentence, at once, in little memory."""

import hashlib
import json
import os
import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import ModelFileError
from pmcnet.estimators.model_file import fingerprint

SECRET = "/etc/passwd"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A classifier of three classes."""
    folder = tmp_path_factory.mktemp("models")
    return PMCNetClassifier(**QUICK).fit(*classes(n_classes=3)).save(folder / "m")


@pytest.fixture
def model(saved, tmp_path) -> Path:
    path = tmp_path / "model"
    path.mkdir()
    for file in saved.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


def record_of(path: Path) -> dict:
    return json.loads((path / "model.json").read_text())


def sign(path: Path, record: dict) -> None:
    """Write a record, and what it says of the tensors, as one who wants it believed."""
    tensors = path / "tensors.safetensors"
    if tensors.is_file():
        record["tensors"] = record["tensors"] | {
            "sha256": hashlib.sha256(tensors.read_bytes()).hexdigest()
        }
    (path / "model.json").write_text(json.dumps(record | {"fingerprint": fingerprint(record)}))


def with_tensors(path: Path, **changes: torch.Tensor | None) -> None:
    """Other tensors, truly described."""
    file = path / "tensors.safetensors"
    tensors = {n: t for n, t in (load_file(file) | changes).items() if t is not None}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, file)
    told = {name: {"shape": list(t.shape), "dtype": str(t.dtype)} for name, t in tensors.items()}
    sign(path, record_of(path) | {"tensors": told})


def refused(path: Path, says: str, kind: type = PMCNetClassifier, **options) -> None:
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=says) as caught:
        kind.load(path, **options)
    assert str(caught.value).replace(str(path), "").isprintable()
    assert time.process_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


def test_signed_again_the_model_is_read(model):
    sign(model, record_of(model))
    with_tensors(model)
    assert PMCNetClassifier.load(model).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["model.json", "tensors.safetensors"])
def test_pipe_device_and_folder_are_refused_at_once(model, name):
    file = model / name
    file.unlink()
    os.mkfifo(file)
    refused(model, f"has no {name}")
    file.unlink()
    file.symlink_to("/dev/zero")
    refused(model, f"has no {name}")
    file.unlink()
    file.mkdir()
    refused(model, f"has no {name}")


@pytest.mark.parametrize("name", ["model.json", "tensors.safetensors"])
@pytest.mark.parametrize("absolute", [True, False])
def test_link_out_of_the_folder_is_refused(model, tmp_path, name, absolute):
    (model / name).rename(tmp_path / "other")
    (model / name).symlink_to(tmp_path / "other" if absolute else "../other")
    refused(model, "leads out of its folder")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "", SECRET, "/dev/zero", "../" * 50])
def test_path_that_is_no_model_is_refused(path):
    refused(path, "has no model.json")


def test_json_of_a_gigabyte_is_refused_unread(model):
    with (model / "model.json").open("wb") as file:
        file.write(b"[" * 1000)
        file.truncate(1 << 30)
    refused(model, "1073741824 bytes, more than the")


def test_json_of_brackets_is_refused(model):
    (model / "model.json").write_bytes(b"[" + b"[]," * 10_000_000 + b"[]]")
    refused(model, "brackets")


def test_json_that_is_nested_deeply_is_refused(model):
    for depth in (500, 990, 100_000):
        (model / "model.json").write_text(
            '{"format": "pmcnet-model", "a": ' + "[" * depth + "]" * depth + "}"
        )
        refused(model, "nested too deeply|version None|cannot be read")


def change(record: dict, place: str, value) -> dict:
    """The record with one value replaced; `place` is keys and positions with dots between."""
    *way, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    inner = record
    for part in way:
        inner = inner[part]
    inner[last] = value
    return record


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("kind", "os.system", "no kind of model is called 'os.system'"),
        ("kind", ["PMCNetClassifier"], "no kind of model"),
        ("version", 0, "format version 0"),
        ("version", True, "format version True"),
        ("version", "1", "format version '1'"),
        ("extra", 1, "'extra', which does not belong there"),
        ("settings.extra", 1, "extra"),
        ("settings.hidden_layer_sizes", [10**9, 10**9], "does not fit"),
        ("settings.hidden_layer_sizes", [-3], "hidden_layer_sizes"),
        ("settings.hidden_layer_sizes", "3", "hidden_layer_sizes"),
        ("settings.activation", ["tanh"], "activation|unhashable"),
        ("settings.method", "rm -rf", "method must be one of"),
        ("settings.prior", "x", "prior must be"),
        ("layout", [], "layout must be a list of 1 or more"),
        ("layout.0.1", [10**12, 10**12], "the network needs"),
        ("layout.0.1", [-1, -9], "layout"),
        (
            "likelihood",
            {"kind": "LearnedGaussian", "log_sigma_mean": 0.0, "log_sigma_std": 1.0},
            "no likelihood of classes",
        ),
        ("likelihood.n_classes", 10**9, "n_classes must be"),
        ("likelihood.n_classes", 4, "3 classes for 4 outputs"),
        ("likelihood.n_classes", 3.0, "whole number"),
        ("likelihood.extra", 1, "does not belong there"),
        ("classes.values", ["a", "b", "a"], "a class comes twice"),
        ("classes.values", ["a", "b", 3], "classes"),
        ("classes.values", ["a", "b", "c" * (1 << 21)], "names of its classes are too long"),
        ("classes.type", "complex", "classes.type"),
        ("encoder.kind", "spell", "no encoder is called 'spell'"),
        ("encoder.flagged", [], "do not agree in length"),
        ("encoder.columns.0.mean", [0.0], "mean"),
        ("encoder.columns.0.mean", None, "mean"),
        ("encoder.columns.0.std", 0, "std|standard deviation"),
        ("encoder.columns.0.std", -1.0, "std|standard deviation"),
        ("encoder.flagged.0", "x", "true or false"),
        ("encoder.columns.0.kind", "code", "no kind of column is called 'code'"),
        ("encoder.columns.0.levels", ["a"], "levels"),
        ("encoder.columns.0.name", "column 1", "columns are not those it names"),
        ("fitted.n_features_in_", 10**12, "3 columns are known"),
        ("fitted.n_features_in_", -3, "whole number"),
        ("fitted.history_", {}, "history_"),
        ("fitted.prior_std_", -1, "prior_std_"),
        ("feature_names", ["a"], "feature names"),
        ("feature_names", [1, 2, 3], "feature_names"),
        ("verdict", ["fine", ""], "verdict"),
        ("verdict", ["trustworthy"], "verdict"),
        ("population", 1, "population"),
        ("log_evidence_error", -1, "log_evidence_error"),
        ("tensors.theta.shape", [10**6, 10**6], "holds other tensors"),
        ("tensors.theta.dtype", "torch.float16", "holds other tensors"),
    ],
)
def test_record_that_cannot_be_is_refused(model, place, value, says):
    sign(model, change(record_of(model), place, value))
    refused(model, says)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A calibrated model of numbers and one of classes."""
    folder = tmp_path_factory.mktemp("calibrated")
    rows = {PMCNetRegressor: numbers(), PMCNetClassifier: classes()}
    return {
        kind: kind(**QUICK, conformal=True).fit(*given).save(folder / kind.__name__)
        for kind, given in rows.items()
    }


@pytest.mark.parametrize(
    ("kind", "place", "value", "says"),
    [
        (PMCNetRegressor, "calibration", [], "calibration must be a table"),
        (PMCNetRegressor, "calibration", {"kind": "sets", "scores": [0.1]}, "calibration"),
        (PMCNetRegressor, "calibration.kind", "os.system", "calibration.kind"),
        (PMCNetRegressor, "calibration.residuals", [], "list of 1 or more"),
        (PMCNetRegressor, "calibration.residuals.3", [0.0] * 15, "list of 16"),
        (PMCNetRegressor, "calibration.residuals.3.2", None, "finite number"),
        (PMCNetRegressor, "calibration.residuals.3.2", 1e301, "finite number"),
        (PMCNetRegressor, "calibration.residuals.3.2", "0", "finite number"),
        (PMCNetRegressor, "calibration.extra", 1, "does not belong there"),
        (PMCNetRegressor, "settings.conformal", "split", "conformal must be True or False"),
        (PMCNetClassifier, "calibration.scores", [], "list of 1 or more"),
        (PMCNetClassifier, "calibration.scores.0", 1.5, "finite number from 0 to 1"),
        (PMCNetClassifier, "calibration.scores.0", [0.5], "finite number"),
        (PMCNetClassifier, "calibration.scores.0", True, "finite number"),
        (PMCNetClassifier, "calibration.kind", "intervals", "calibration"),
    ],
)
def test_calibration_that_cannot_be_is_refused(calibrated, tmp_path, kind, place, value, says):
    path = shutil.copytree(calibrated[kind], tmp_path / "copy")
    sign(path, change(record_of(path), place, value))
    refused(path, says, kind)


@pytest.mark.parametrize(
    "key", ["kind", "settings", "layout", "likelihood", "encoder", "fitted", "classes", "tensors"]
)
def test_missing_key_is_named(model, key):
    record = record_of(model)
    del record[key]
    sign(model, record | ({} if key != "tensors" else {"tensors": {}}))
    refused(model, f"has no {key}|no kind of model|holds other tensors")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "9" * 400])
def test_number_that_is_none_is_refused(model, number):
    file = model / "model.json"
    file.write_text(file.read_text().replace('"prior_std_": 1.0', f'"prior_std_": {number}'))
    refused(model, "cannot be read")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"theta": torch.zeros(256, 5)}, "the network needs"),
        ({"theta": torch.zeros(0, 24)}, "the network needs"),
        ({"theta": torch.zeros(256 * 24)}, "the network needs"),
        ({"theta": torch.zeros(256, 24, dtype=torch.int64)}, "networks of torch.int64"),
        ({"theta": torch.zeros(256, 24, dtype=torch.float16)}, "networks of torch.float16"),
        ({"theta": torch.full((256, 24), torch.nan)}, "not finite"),
        ({"theta": torch.full((256, 24), torch.inf)}, "not finite"),
        ({"theta": torch.full((256, 24), 1e30)}, "not finite numbers up to"),
        ({"log_weight": torch.zeros(47, dtype=torch.float64)}, "the network needs"),
        ({"log_weight": torch.zeros(256)}, "weights of torch.float32"),
        ({"log_weight": torch.full((256,), torch.nan, dtype=torch.float64)}, "log-weights are NaN"),
        ({"log_weight": torch.full((256,), torch.inf, dtype=torch.float64)}, "log-weights are NaN"),
        (
            {"log_weight": torch.full((256,), -torch.inf, dtype=torch.float64)},
            "log-weights are NaN",
        ),
        ({"log_weight": None}, "must hold theta, log_weight"),
        ({"theta": None}, "must hold theta, log_weight"),
        ({"../evil": torch.zeros(1)}, "must hold theta, log_weight"),
        ({"buffer.x": torch.zeros(1)}, "other buffers"),
    ],
)
def test_tensors_that_cannot_be_are_refused(model, changes, says):
    with_tensors(model, **changes)
    refused(model, says)


def test_header_of_a_trillion_numbers_is_refused(model):
    header = {"theta": {"dtype": "F32", "shape": [10**12, 24], "data_offsets": [0, 96 * 10**12]}}
    text = json.dumps(header).encode()
    (model / "tensors.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    sign(model, record_of(model))
    refused(model, "take 96000000000000 bytes, and the file has 0")


def test_noise_that_overflows_is_refused(tmp_path):
    path = PMCNetRegressor(**QUICK).fit(*numbers()).save(tmp_path / "m")
    theta = load_file(path / "tensors.safetensors")["theta"]
    theta[3, -1] = 1000.0
    with_tensors(path, theta=theta)
    refused(path, "noise is zero or infinite", PMCNetRegressor)


def norm(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_inputs, 2), nn.BatchNorm1d(2), nn.Linear(2, n_outputs))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("running_var", torch.tensor([1.0, -1.0])),
        ("running_mean", torch.tensor([torch.nan, 0.0])),
        ("other", torch.zeros(1)),
    ],
)
def test_buffers_that_cannot_be_are_refused(tmp_path, name, value):
    path = PMCNetClassifier(**QUICK, module=norm).fit(*classes()).save(tmp_path / "m")
    PMCNetClassifier.load(path, module=norm)
    with_tensors(path, **{f"buffer.1.{name}": value})
    refused(path, "buffer", module=norm)


class Masked(nn.Linear):
    """A layer with infinities in a buffer, as masks have them."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__(n_inputs, n_outputs)
        self.register_buffer("mask", torch.tensor([0.0, -torch.inf]))


def test_mask_of_infinities_comes_back(tmp_path):
    x, y = classes()
    model = PMCNetClassifier(**QUICK, module=Masked).fit(x, y)
    loaded = PMCNetClassifier.load(model.save(tmp_path / "m"), module=Masked)
    assert np.allclose(loaded.predict_proba(x), model.predict_proba(x))


def test_shape_of_gigantic_images_is_refused(tmp_path):
    def flat(shape, n_outputs):
        return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4, n_outputs))

    x = np.random.default_rng(0).normal(size=(20, 1, 4, 4))
    path = PMCNetClassifier(**QUICK, module=flat).fit(x, [0, 1] * 10).save(tmp_path / "m")
    PMCNetClassifier.load(path, module=flat)
    record = record_of(path)
    record["encoder"]["shape"], record["fitted"]["n_features_in_"] = [1, 10**6, 10**6], 10**12
    sign(path, record)
    refused(path, "do not agree", module=flat)
