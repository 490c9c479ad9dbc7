"""The model of a run folder, or of a folder that `save` wrote."""

from pathlib import Path
from typing import Any


def load_model(run: Path, device: str = "auto") -> Any:
    """The fitted estimator that lies there."""
    from pmcnet import estimators
    from pmcnet.errors import InputError
    from pmcnet.estimators.model_file import JSON_NAME, read_record

    if not run.is_dir():
        raise InputError(f"there is no run folder {run}. Give a folder that `pmcnet fit` wrote.")
    path = run if (run / JSON_NAME).is_file() else run / "model"
    if not path.is_dir():
        if (run / "config.toml").is_file():
            raise InputError(
                f"{run} has no model: it is not finished. Go on with: pmcnet resume {run}"
            )
        raise InputError(
            f"{run} has no model, so it is no run. Give a folder that `pmcnet fit` wrote."
        )
    kind = read_record(path)["kind"]
    return getattr(
        estimators, kind if kind in ("PMCNetClassifier", "PMCNetRegressor") else "PMCNetClassifier"
    ).load(path, device=device)
