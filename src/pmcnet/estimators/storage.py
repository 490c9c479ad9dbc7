"""Model files: a folder with `tensors.safetensors` and `model.json`, and nothing that is executed.

`model.json` holds settings, encoders, classes, verdict and history, the checksum of the tensors and a fingerprint of
itself, so that a truncated or edited file is refused.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from pmcnet import __version__
from pmcnet.ais.diagnostics import Verdict
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.target import DEFAULT_MEMORY
from pmcnet.bnn import Bernoulli, Categorical, Gaussian, LearnedGaussian, Likelihood, Population, RecordedPosterior
from pmcnet.errors import InputError, ModelFileError
from pmcnet.estimators.encoding import encoder_from
from pmcnet.estimators.plain import labels_from_plain, labels_to_plain, plain
from pmcnet.estimators.planning import resolve_device

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator
    from pmcnet.estimators.building import ModuleSource

FORMAT = "pmcnet-model"
VERSION = 1
JSON_NAME, TENSORS_NAME = "model.json", "tensors.safetensors"
PREDICTION_MEMORY = 1 << 24
"""Bytes of temporaries while predicting on a CPU: what stays in its cache."""
MOST_JSON = 1 << 28
"""Bytes of JSON beyond which a file is refused unread."""

_LIKELIHOODS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Bernoulli, Categorical, Gaussian, LearnedGaussian)
}
_FITTED = ("method_", "method_reason_", "method_options_", "prior_std_", "prior_trials_", "history_", "n_features_in_")

E = TypeVar("E", bound="PMCNetEstimator")


def save(model: "PMCNetEstimator", path: str | Path) -> Path:
    """Write a fitted model; an older model at the same path is replaced, anything else there is left alone."""
    from safetensors.torch import save_file

    path = Path(path)
    if path.exists() and not (path / JSON_NAME).is_file():
        raise InputError(f"{path} exists and is not a pmcnet model. Choose another path.")
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = model.posterior_.samples
    tensors = {
        "theta": model.posterior_.theta.detach().cpu().contiguous(),
        "log_weight": samples.log_weight.detach().flatten().double().cpu().contiguous(),
    }
    network = getattr(model.posterior_.network, "module", None)
    if isinstance(network, torch.nn.Module):
        tensors |= {f"buffer.{name}": b.detach().cpu().contiguous() for name, b in network.named_buffers()}
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        save_file(tensors, folder / TENSORS_NAME)
        record = _record(model, tensors)
        record["tensors"]["sha256"] = _sha256(folder / TENSORS_NAME)
        record["fingerprint"] = fingerprint(record)
        text = json.dumps(record, indent=1, allow_nan=False)
        (folder / JSON_NAME).write_text(text + "\n", encoding="utf-8")
        folder.chmod(0o755)
        _put(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path


def _put(folder: Path, path: Path) -> None:
    """Move a finished folder to its place."""
    if path.exists():
        old = folder.with_name(folder.name + "-old")
        os.replace(path, old)
        os.replace(folder, path)
        shutil.rmtree(old)
    else:
        os.replace(folder, path)


def _record(model: "PMCNetEstimator", tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    settings = {k: v for k, v in model.get_params(deep=False).items() if k not in ("module", "random_state")}
    seed = model.random_state
    settings["random_state"] = int(seed) if isinstance(seed, Integral) else None
    likelihood = model.posterior_.likelihood
    own = {"classes": labels_to_plain(model.classes_)} if hasattr(model, "classes_") else {}
    if hasattr(model, "y_mean_"):
        own = {"y_mean": model.y_mean_, "y_std": model.y_std_}
    names = getattr(model, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "kind": type(model).__name__,
        "settings": plain(settings),
        "own_module": model.module is not None,
        "layout": [[p.name, list(p.shape)] for p in model.posterior_.network.layout],
        "likelihood": {"kind": type(likelihood).__name__, **plain(vars(likelihood))},
        "encoder": plain(model.encoder_.state()),
        "fitted": {name: plain(getattr(model, name)) for name in _FITTED},
        "feature_names": None if names is None else [str(name) for name in names],
        "verdict": list(model.verdict_),
        "population": isinstance(model.posterior_, Population),
        "log_evidence_error": plain(model.posterior_.log_evidence_error),
        "tensors": {name: {"shape": list(t.shape), "dtype": str(t.dtype)} for name, t in tensors.items()},
        **plain(own),
    }


def fingerprint(record: Mapping[str, Any]) -> str:
    """SHA-256 of a record without its own fingerprint, in canonical JSON."""
    body = {key: value for key, value in record.items() if key != "fingerprint"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_record(path: str | Path) -> dict[str, Any]:
    """The JSON of a model folder, after checking that it is one, is whole and is not from a newer version."""
    file = Path(path) / JSON_NAME
    if not file.is_file():
        why = f"it has no {JSON_NAME}" if file.parent.is_dir() else f"there is no such folder, so it has no {JSON_NAME}"
        raise ModelFileError(f"{path} is no pmcnet model: {why}. Give the folder that save() wrote.")
    try:
        if file.stat().st_size > MOST_JSON:
            raise ModelFileError(f"{file} is larger than any model's {JSON_NAME}; it is refused unread.")
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refused)
    except (OSError, RecursionError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{file} cannot be read ({error}). It is damaged or truncated: save again.") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ModelFileError(f"{file} is JSON of another kind, not a pmcnet model.")
    version = record.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ModelFileError(
            f"{path} has format version {version!r}; this pmcnet reads up to {VERSION}. Upgrade pmcnet (it was written "
            f"by {record.get('library')})."
        )
    if record.get("fingerprint") != fingerprint(record):
        raise ModelFileError(f"{file} was changed after it was written: its fingerprint does not fit. Save again.")
    return record


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def load(cls: type[E], path: str | Path, *, module: "ModuleSource" = None, device: str = "auto") -> E:
    """Read a model of the given class."""
    record = read_record(path)
    try:
        if record["kind"] != cls.__name__:
            raise ModelFileError(f"{path} holds a {record['kind']}, not a {cls.__name__}. Use {record['kind']}.load.")
        if record["own_module"] and module is None:
            raise ModelFileError(f"{path} has a network of its own, which files do not hold. Pass module= again.")
        return _restored(cls, record, Path(path), module, device)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} lacks or garbles {error}. It was not written by pmcnet: save again.") from error


def _restored(cls: type[E], record: dict[str, Any], path: Path, module: "ModuleSource", device: str) -> E:
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()}
    model = cls(**settings, module=module)
    for name in _FITTED:
        setattr(model, name, record["fitted"][name])
    model.encoder_ = encoder_from(record["encoder"])
    if "classes" in record:
        model.classes_ = labels_from_plain(record["classes"])
    if "y_mean" in record:
        model.y_mean_, model.y_std_ = float(record["y_mean"]), float(record["y_std"])
    names = record["feature_names"]
    if names is not None:
        if len(names) != model.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ModelFileError(
                f"{path} has other feature names than its {model.n_features_in_!r} columns. Save again."
            )
        model.feature_names_in_ = np.array(names, dtype=object)
    likelihood = _likelihood(record["likelihood"])
    if "classes" in record and len(model.classes_) != max(2, likelihood.n_outputs):
        raise ModelFileError(
            f"{path} has {len(model.classes_)} classes for {likelihood.n_outputs} outputs. Save again."
        )
    network = model._network(likelihood.n_outputs)
    layout = [[p.name, list(p.shape)] for p in network.layout]
    if layout != record["layout"]:
        raise ModelFileError(f"the network does not fit {path}: its parameters are {layout}, saved {record['layout']}.")
    tensors = _tensors(path, record["tensors"], network.layout.dim + likelihood.n_extra)
    own = getattr(network, "module", None)
    if isinstance(own, torch.nn.Module):
        own.load_state_dict(
            {n.removeprefix("buffer."): t for n, t in tensors.items() if n.startswith("buffer.")}, strict=False
        )
    where = resolve_device(device)
    samples = WeightedSamples(tensors["theta"].to(where), tensors["log_weight"].to(where))
    error = record["log_evidence_error"]
    model.verdict_ = Verdict(*record["verdict"])
    if record["population"]:
        memory = PREDICTION_MEMORY if where.type == "cpu" else DEFAULT_MEMORY
        model.posterior_ = Population(network, likelihood, samples, memory, reason=model.verdict_.reason)
        return model
    model.posterior_ = RecordedPosterior(
        network,
        likelihood,
        samples,
        PREDICTION_MEMORY if where.type == "cpu" else DEFAULT_MEMORY,
        recorded_verdict=model.verdict_,
        recorded_error=float("inf") if error is None else float(error),
    )
    return model


def _likelihood(state: Mapping[str, Any]) -> Likelihood:
    kind = _LIKELIHOODS.get(state["kind"])
    if kind is None:
        raise ModelFileError(f"no likelihood is called {state['kind']!r}; there are {', '.join(_LIKELIHOODS)}.")
    made: Likelihood = kind(**{key: value for key, value in state.items() if key != "kind"})
    return made


def _tensors(path: Path, described: Mapping[str, Any], dim: int) -> dict[str, torch.Tensor]:
    """The tensors, after their checksum, shapes and types were checked."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    file = path / TENSORS_NAME
    if not file.is_file():
        raise ModelFileError(f"{path} has no {TENSORS_NAME}. Copy the whole folder.")
    if _sha256(file) != described["sha256"]:
        raise ModelFileError(f"{file} is damaged or was changed: its checksum does not fit {JSON_NAME}. Save again.")
    try:
        tensors = load_file(file)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{file} cannot be read ({error}). Save again.") from error
    shapes = {name: {"shape": list(t.shape), "dtype": str(t.dtype)} for name, t in tensors.items()}
    if shapes != {name: value for name, value in described.items() if name != "sha256"}:
        raise ModelFileError(f"{file} holds other tensors than {JSON_NAME} says. Save again.")
    theta, log_weight = tensors["theta"], tensors["log_weight"]
    if theta.ndim != 2 or not len(theta) or theta.shape[1] != dim or log_weight.shape != theta.shape[:1]:
        raise ModelFileError(f"{file} has theta {tuple(theta.shape)}; the network needs (n_draws, {dim}).")
    if not (theta.is_floating_point() and theta.isfinite().all()) or log_weight.isnan().any():
        raise ModelFileError(f"{file} holds networks that are not finite numbers. Fit again.")
    return tensors


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
