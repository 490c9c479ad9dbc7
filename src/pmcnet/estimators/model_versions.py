"""Records of older model files with what they lack."""

from typing import Any

ISLANDS_SINCE = 3
"""The version from which files say which networks belong to which island."""
FORMULATION_SINCE = 4
"""The version from which files say which likelihood, noise and prior were chosen."""


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
    return record
