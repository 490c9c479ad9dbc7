"""What to do when a verdict is not `trustworthy`, in commands."""

from pmcnet.estimators.plan import MOST_TRAJECTORIES
from pmcnet.runs.scores import Model


def advice(model: Model) -> list[str]:
    """Steps in the order in which to try them; none where the posterior can be trusted."""
    if model.verdict_.status == "trustworthy":
        return []
    if model.method_ == "hmc":
        warmup, draws = (
            int(model.method_options_.get(name) or 100) for name in ("n_warmup", "n_draws")
        )
        budget = "" if 2 * draws >= MOST_TRAJECTORIES else "a larger --budget, or "
        return [
            f"Let chains run longer: {budget}--option n_warmup={2 * warmup} --option "
            f"n_draws={2 * draws} "
            f"(now {warmup} and {draws}).",
            "Where rows are few, --method annealed finds modes that chains do not reach.",
            "The averaged prediction is often good all the same: compare metrics and coverage on "
            "held-out rows.",
        ]
    if model.method_ != "annealed":
        return [
            "Fit with --method annealed, or with a larger --budget so that auto takes it.",
            "Until then use the predictions like those of a few trained networks: their spread is "
            "not a posterior.",
        ]
    particles = model.method_options_.get("n_particles")
    return [
        f"Use more networks: --option n_particles={2 * int(particles or 500)} (now {particles}).",
        "Let them move more: --option n_moves=3 --option ess_fraction=0.7.",
        "Or a smaller network: --hidden with fewer units has fewer modes to lose.",
        "The averaged prediction is often good all the same: compare metrics and coverage on "
        "held-out rows.",
    ]
