"""Model files: a folder with `tensors.safetensors` and `model.json`, and nothing that is executed.

`model.json` holds settings, encoders, classes, verdict and history, the checksum of the tensors and
a fingerprint of itself, so that a truncated or edited file is refused.
"""

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from pmcnet import __version__
from pmcnet.ais.agreement import Agreement
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.target import DEFAULT_MEMORY
from pmcnet.ais.verdict import Verdict
from pmcnet.bnn import ParticlePosterior, Population, RecordedPosterior
from pmcnet.bnn.likelihoods.registry import from_plain
from pmcnet.errors import InputError, ModelFileError
from pmcnet.estimators.conformal.stored_calibration import calibration_from, plain_calibration
from pmcnet.estimators.encoding import encoder_from
from pmcnet.estimators.kept_rows import KeptRows
from pmcnet.estimators.model_schema import check_record
from pmcnet.estimators.model_tensors import (
    TENSORS_NAME,
    check_networks,
    described,
    put_buffers,
    read_tensors,
    reference_tensors,
    tensors_of,
)
from pmcnet.estimators.model_versions import of_this_version
from pmcnet.estimators.networks import with_scales
from pmcnet.estimators.novelty import NoveltyScale
from pmcnet.estimators.plan import resolve_device
from pmcnet.estimators.reference_rows import ReferenceRows
from pmcnet.estimators.update import Update, updatable
from pmcnet.io.atomic import put_folder, write_whole
from pmcnet.io.files import one_line, parse_json, read_file
from pmcnet.io.plain import labels_from_plain, labels_to_plain, numbers_from_plain, plain

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator
    from pmcnet.estimators.networks import ModuleSource

FORMAT = "pmcnet-model"
VERSION = 7
JSON_NAME = "model.json"
PREDICTION_MEMORY = 1 << 24
"""Bytes of temporaries while predicting on a CPU: what stays in its cache."""
MOST_JSON = 1 << 26
"""Bytes of JSON beyond which a file is refused unread."""

_WRONG = (
    ArithmeticError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)
_FITTED = (
    "method_",
    "method_reason_",
    "method_options_",
    "likelihood_",
    "noise_",
    "prior_std_",
    "formulation_reason_",
    "comparisons_",
    "prior_trials_",
    "history_",
    "n_features_in_",
)

E = TypeVar("E", bound="PMCNetEstimator")


def save(
    model: "PMCNetEstimator",
    path: str | Path,
    *,
    training_rows: bool = False,
    reference_rows: bool = True,
) -> Path:
    """Write a fitted model; it replaces an older model at the same path, but nothing else."""
    from safetensors.torch import save as save_tensors

    path = Path(path)
    if path.exists() and not (path / JSON_NAME).is_file():
        raise InputError(f"{path} exists and is not a pmcnet model. Choose another path.")
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = tensors_of(model.posterior_)
    if training_rows:
        tensors |= updatable(model).tensors()
    if reference_rows:
        tensors |= reference_tensors(model.reference_rows_, model.novelty_scale_)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        content = save_tensors(tensors)
        write_whole(folder / TENSORS_NAME, content)
        record = _record(model, tensors)
        record["tensors"]["sha256"] = hashlib.sha256(content).hexdigest()
        record["fingerprint"] = fingerprint(record)
        text = json.dumps(record, indent=1, allow_nan=False)
        write_whole(folder / JSON_NAME, f"{text}\n".encode())
        folder.chmod(0o755)
        put_folder(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path


def _record(model: "PMCNetEstimator", tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    settings = {
        k: v for k, v in model.get_params(deep=False).items() if k not in ("module", "random_state")
    }
    seed = model.random_state
    settings["random_state"] = int(seed) if isinstance(seed, Integral) else None
    own = {"y_mean": model.y_mean_, "y_std": model.y_std_} if hasattr(model, "y_mean_") else {}
    if hasattr(model, "classes_"):
        own = {"classes": labels_to_plain(model.classes_)}
    names = getattr(model, "feature_names_in_", None)
    agreement = model.posterior_.agreement
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "kind": type(model).__name__,
        "settings": plain(settings),
        "own_module": model.module is not None,
        "layout": [[p.name, list(p.shape)] for p in model.posterior_.network.layout],
        "likelihood": plain(model.posterior_.likelihood.to_plain()),
        "encoder": plain(model.encoder_.state()),
        "fitted": {name: plain(getattr(model, name)) for name in _FITTED},
        "feature_names": None if names is None else [str(name) for name in names],
        "verdict": plain(list(model.verdict_)),
        "calibration": plain_calibration(model.calibration_),
        "population": isinstance(model.posterior_, Population),
        "log_evidence_error": plain(model.posterior_.log_evidence_error),
        "ess": plain(model.posterior_.ess),
        "n_islands": model.posterior_.n_islands,
        "agreement": None if agreement is None else plain(list(agreement)),
        "update": None if model.update_ is None else plain(model.update_._asdict()),
        "tensors": described(tensors),
        **plain(own),
    }


def fingerprint(record: Mapping[str, Any]) -> str:
    """SHA-256 of a record without its own fingerprint, in canonical JSON."""
    body = {key: value for key, value in record.items() if key != "fingerprint"}
    return hashlib.sha256(
        json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def read_record(path: str | Path) -> dict[str, Any]:
    """The JSON of a model folder, after checking that it is complete and not of a newer version."""
    file = Path(path) / JSON_NAME
    if not os.path.isfile(file):
        nowhere = "" if os.path.isdir(path) else "there is no such folder, so "
        why = f"{nowhere}it has no {JSON_NAME}"
        raise ModelFileError(
            f"{path} is no pmcnet model: {why}. Give the folder that save() wrote."
        )
    with _damages(file, "cannot be read"):
        record = parse_json(read_file(file, most=MOST_JSON, inside=path))
        found = fingerprint(record) if isinstance(record, dict) else ""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ModelFileError(f"{file} is JSON of another kind, not a pmcnet model.")
    version = record.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFileError(
            f"{path} has format version {version!r:.40}; this pmcnet reads 1 to {VERSION}. Upgrade "
            f"pmcnet (it was written by {record.get('library')!r:.40})."
        )
    if record.get("fingerprint") != found:
        raise ModelFileError(
            f"{file} was changed after it was written: its fingerprint does not fit. Save again."
        )
    with _damages(file, "was not written by pmcnet"):
        record = of_this_version(record, version)
        check_record(record)
    return record


@contextmanager
def _damages(file: Path, what: str) -> Iterator[None]:
    """Whatever goes wrong with a file in one sentence."""
    try:
        yield
    except ModelFileError:
        raise
    except InputError as error:  # says what to do itself
        raise ModelFileError(f"{file} {what}: {one_line(error)}.") from error
    except _WRONG as error:
        raise ModelFileError(
            f"{file} {what} ({one_line(error)}). It is damaged or truncated: save again."
        ) from error


def load(
    cls: type[E], path: str | Path, *, module: "ModuleSource" = None, device: str = "auto"
) -> E:
    """Read a model of the given class."""
    record = read_record(path)
    if record["kind"] != cls.__name__:
        raise ModelFileError(
            f"{path} holds a {record['kind']}, not a {cls.__name__}. Use {record['kind']}.load."
        )
    if record["own_module"] and module is None:
        raise ModelFileError(
            f"{path} has a network of its own, which files do not hold. Pass module= again."
        )
    where = resolve_device(device)
    with _damages(Path(path), "cannot be used"):
        model = _model(cls, record, module)
        model.posterior_ = _posterior(model, record, Path(path), where)
        return model


def _model(cls: type[E], record: dict[str, Any], module: "ModuleSource") -> E:
    """The estimator with everything but its networks."""
    settings: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()
    }
    model = cls(**settings, module=module)
    model.check_settings()
    for name in _FITTED:
        setattr(model, name, record["fitted"][name])
    model.encoder_ = encoder_from(record["encoder"])
    if "classes" in record:
        model.classes_ = labels_from_plain(record["classes"])
    else:
        model.y_mean_, model.y_std_ = (
            numbers_from_plain(record[name]) for name in ("y_mean", "y_std")
        )
    if record["feature_names"] is not None:
        model.feature_names_in_ = np.array(record["feature_names"], dtype=object)
    model.verdict_ = Verdict(*record["verdict"])
    model.calibration_ = calibration_from(record["calibration"])
    model.update_ = None if record["update"] is None else Update(**record["update"])
    return model


def _posterior(
    model: "PMCNetEstimator", record: dict[str, Any], path: Path, where: torch.device
) -> ParticlePosterior:
    """The networks, after checking that they are those of the record."""
    likelihood = from_plain(record["likelihood"])
    tensors = read_tensors(path, record["tensors"])
    check_networks(tensors, record["layout"], likelihood, path)
    network = model._network(likelihood.n_outputs)
    if isinstance(model.prior_std_, str):
        network = with_scales(network, model.prior_std_, model._task)
    layout = [[p.name, list(p.shape)] for p in network.layout]
    if layout != record["layout"]:
        raise ModelFileError(
            f"the network does not fit {path}: its parameters are {layout!r:.200}, saved "
            f"{record['layout']!r:.200}."
        )
    put_buffers(tensors, network, path)
    shape = model.encoder_.input_shape
    model.training_rows_ = KeptRows.from_tensors(tensors, shape, likelihood)
    model.reference_rows_ = ReferenceRows.from_tensors(tensors, shape)
    model.novelty_scale_ = NoveltyScale.from_tensors(tensors)
    n_islands, n_draws = record["n_islands"], len(tensors["theta"])
    if n_islands and n_draws % n_islands:
        raise ModelFileError(
            f"{path} has {n_draws} networks, not {n_islands} islands of equal size. Save again."
        )
    samples = WeightedSamples(tensors["theta"].to(where), tensors["log_weight"].to(where))
    memory = PREDICTION_MEMORY if where.type == "cpu" else DEFAULT_MEMORY
    equal, error = record["population"], record["log_evidence_error"]
    return (Population if equal else RecordedPosterior)(
        network,
        likelihood,
        samples,
        memory,
        n_islands,
        recorded_verdict=model.verdict_,
        recorded_error=math.inf if equal or error is None else float(error),
        known_ess=float(record["ess"]),
        agreement=Agreement.of_plain(record["agreement"]),
    )
