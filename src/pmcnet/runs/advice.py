"""What to do when a verdict is not `trustworthy`, in commands."""

from pmcnet.estimators.evaluation.scores import Model
from pmcnet.methods.registry import METHODS
from pmcnet.methods.settings import Settings, Value

_USEFUL = (
    "The averaged prediction is often good all the same: compare metrics and coverage on held-out "
    "rows."
)


def advice(model: Model) -> list[str]:
    """Steps in the order in which to try them; none where the posterior can be trusted."""
    if model.verdict_.status == "trustworthy":
        return []
    settings = METHODS.get(model.method_, Settings())  # a model may be of another version
    known: dict[str, Value] = {
        key: v for key, v in model.method_options_.items() if key in vars(settings)
    }
    if "n_islands" in vars(settings) and model.posterior_.n_islands:
        known["n_islands"] = model.posterior_.n_islands
    settings = settings.given(model.method_, known)
    longer, now = settings.longer(), vars(settings)
    if not longer:
        return [
            "Fit with --method annealed, or with a larger --budget so that auto takes it.",
            "Until then use the predictions like those of a few trained networks: their spread is "
            "not a posterior.",
        ]
    given = " ".join(f"--option {name}={value}" for name, value in longer.items())
    sizes = " and ".join(str(now[name] or "by the budget") for name in longer)
    grows = all(now[name] < most for name, most in settings.largest.items())
    budget = "a larger --budget, or " if grows else ""
    return [f"Run longer: {budget}{given} (now {sizes}).", *settings.remedies, _USEFUL]
