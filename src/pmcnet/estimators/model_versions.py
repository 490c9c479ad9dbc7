"""Records of older model files with what they lack."""

from typing import Any

ISLANDS_SINCE = 3
"""The version from which files say which networks belong to which island."""
FORMULATION_SINCE = 4
"""The version from which files say which likelihood, noise and prior were chosen."""
COLUMNS_SINCE = 5
"""The version from which a column has a kind of its own, and may be left out."""
UPDATES_SINCE = 6
"""The version from which files say what the latest update of a model was."""

CALIBRATION_SINCE = 6
"""The version from which models may be calibrated on rows held out."""


def of_this_version(record: dict[str, Any], version: int) -> dict[str, Any]:
    """A record as the present version has it; what it should have and lacks is found later."""
    if version < ISLANDS_SINCE:
        record = {"n_islands": 0, "agreement": None, **record}
    if version < FORMULATION_SINCE:
        settings = record["settings"]
        chosen = {
            "likelihood_": settings.get("likelihood", "gaussian"),
            "noise_": settings.get("noise", "learn"),
            "formulation_reason_": "",
            "comparisons_": [],
        }
        record = {**record, "fitted": {**chosen, **record["fitted"]}}
    if version < COLUMNS_SINCE and record["encoder"]["kind"] == "table":
        record = {**record, "encoder": _with_kinds(record["encoder"])}
    if version < CALIBRATION_SINCE:
        record = {"calibration": None, **record}
    if version < UPDATES_SINCE:
        record = {"update": None, **record}
    return record


def _with_kinds(encoder: dict[str, Any]) -> dict[str, Any]:
    """An encoder of numbers and categories as it is written now."""
    columns = [
        {"kind": "category", "rare": [], "levels": column["levels"], "shares": share}
        if column["kind"] == "text"
        else {"kind": "number", "words": [], "notation": None, "mean": mean, "std": std}
        for column, mean, std, share in zip(
            encoder["columns"], encoder["mean"], encoder["std"], encoder["shares"], strict=True
        )
    ]
    names = [column["name"] for column in encoder["columns"]]
    return {
        "kind": "table",
        "names": names,
        "columns": [{"name": n, "why": "", **c} for n, c in zip(names, columns, strict=True)],
        "left_out": [],
        "flagged": encoder["flagged"],
    }
