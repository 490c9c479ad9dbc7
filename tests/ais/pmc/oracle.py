"""Algorithm 1 of the paper as plain loops in numpy: what the batched step is compared with."""

import math
from dataclasses import dataclass

import numpy as np

from pmcnet import rng


@dataclass
class Logistic:
    """Bayesian logistic regression with prior N(0, 1): value, gradient and Hessian by loops."""

    x: np.ndarray  # (N, D)
    sign: np.ndarray  # (N,) in {-1, +1}
    n_batches: int

    def rows(self, batch):
        return (
            range(len(self.x))
            if batch is None
            else np.array_split(np.arange(len(self.x)), self.n_batches)[batch]
        )

    def share(self, batch):
        return 1.0 if batch is None else 1.0 / self.n_batches

    def value(self, theta, batch=None):
        total = -0.5 * self.share(batch) * theta @ theta
        for n in self.rows(batch):
            total -= math.log1p(math.exp(-self.sign[n] * self.x[n] @ theta))
        return total

    def gradient(self, theta, batch=None):
        total = -self.share(batch) * theta
        for n in self.rows(batch):
            total = total + self.sign[n] * self.x[n] / (
                1 + math.exp(self.sign[n] * self.x[n] @ theta)
            )
        return total

    def hessian(self, theta):
        total = -np.eye(len(theta))
        for n in self.rows(None):
            p = 1 / (1 + math.exp(-self.x[n] @ theta))
            total -= p * (1 - p) * np.outer(self.x[n], self.x[n])
        return total


def log_normal(theta, mean, covariance):
    delta = theta - mean
    return -0.5 * (
        delta @ np.linalg.solve(covariance, delta)
        + np.linalg.slogdet(covariance)[1]
        + len(theta) * math.log(2 * math.pi)
    )


def choose(weights, u):
    """The first index whose cumulative weight exceeds u times the total."""
    total, running = sum(weights), 0.0
    for k, weight in enumerate(weights):
        running += weight
        if running > u * total:
            return k
    raise AssertionError("u must be below 1")


def covariance_of(draws, weights, diagonal):
    weights = np.asarray(weights) / sum(weights)
    mean = sum(w * d for w, d in zip(weights, draws, strict=True))
    total = sum(w * np.outer(d - mean, d - mean) for w, d in zip(weights, draws, strict=True))
    return np.diag(np.diag(total)) if diagonal else total


def clip(weights):
    limit = sorted(weights, reverse=True)[math.ceil(math.sqrt(len(weights)))]
    return [min(w, limit) for w in weights]


def backtracking(point, direction, value):
    for trial in range(20):
        gamma = 0.5**trial
        if value(point + gamma * direction) >= value(point):
            return point + gamma * direction, gamma
    return point, 0.0


def step(target, mus, sigmas, t, seed, n_draws, scale, mean, own=False, globally=False, beta=0.5):
    """One step. scale: full | diagonal | fixed | hessian; mean: langevin | incremental | none."""
    n_proposals, dim = mus.shape
    sources = [rng.stream(seed, t - 1, m).host for m in range(n_proposals)]
    draws, log_weights = [], []
    for m in range(n_proposals):
        factor = np.linalg.cholesky(sigmas[m])
        draws.append([mus[m] + factor @ z for z in sources[m].standard_normal((n_draws, dim))])
    for m in range(n_proposals):
        row = []
        for theta in draws[m]:
            densities = [log_normal(theta, mus[i], sigmas[i]) for i in range(n_proposals)]
            mixture = (
                densities[m] if own else np.logaddexp.reduce(densities) - math.log(n_proposals)
            )
            row.append(target.value(theta) - mixture)
        log_weights.append(row)
    weights = np.exp(np.array(log_weights) - np.max(log_weights))
    eta = 1 / t
    out = {
        "log_weight": np.array(log_weights),
        "ancestors": [],
        "step_size": [],
        "rejected": [],
        "loc": [],
        "cov": [],
    }
    for m in range(n_proposals):
        u = sources[m].random()
        k = choose(weights.flatten(), u) if globally else m * n_draws + choose(weights[m], u)
        survivor = draws[k // n_draws][k % n_draws]
        sigma, rejected = sigmas[m], False
        if scale in ("full", "diagonal"):
            plain = covariance_of(draws[m], weights[m], scale == "diagonal")
            robust = covariance_of(draws[m], clip(weights[m]), scale == "diagonal")
            sigma = (1 - beta) * sigmas[m] + beta * (1 - eta) * plain + beta * eta * robust
        if scale == "hessian":
            sigma = np.linalg.inv(-target.hessian(survivor))
        spread = np.sqrt(np.diag(sigma))
        if np.linalg.eigvalsh(sigma / np.outer(spread, spread))[0] < 1e-12:
            sigma, rejected = sigmas[m], True
        gamma, point = 0.0, survivor
        if mean == "langevin":
            point, gamma = backtracking(survivor, sigma @ target.gradient(survivor), target.value)
        if mean == "incremental":
            gamma = []
            for b in range(target.n_batches):
                direction = 0.5 * sigma @ target.gradient(point, b)
                point, accepted = backtracking(point, direction, lambda x, b=b: target.value(x, b))
                gamma.append(accepted)
        for name, value in zip(out, [None, k, gamma, rejected, point, sigma], strict=True):
            if name != "log_weight":
                out[name].append(value)
    return {name: np.array(value) for name, value in out.items()}
