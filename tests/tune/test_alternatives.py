"""Models by the evidence: which of them competes, and what there is time for."""

import torch

from pmcnet import bnn, tune
from pmcnet.methods.evidence_islands import comparing


def alternatives() -> list[tune.Alternative]:
    """A line with noise, under three priors of which the last is far too narrow."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(40, 1, generator=source)
    y = 2 * x[:, 0] + 0.3 * torch.randn(40, generator=source)
    network, likelihood = bnn.MLP((1, 1), "tanh"), bnn.Gaussian(0.3)
    return [
        tune.Alternative(
            name, bnn.BayesianTarget(network, likelihood, x, y, prior=bnn.GaussianPrior(sigma))
        )
        for name, sigma in (("wide", 3.0), ("wider", 4.0), ("narrow", 0.05))
    ]


def test_the_simplest_within_the_error_is_chosen():
    best, found = tune.choose(alternatives(), comparing(None, 3), seed=0)
    assert [each.name for each in found] == ["wide", "wider", "narrow"]
    assert best == 0
    assert found[0].log_evidence > found[2].log_evidence + 10


def test_what_there_is_no_time_for_does_not_compete():
    best, found = tune.choose(alternatives(), comparing(None, 3), seed=0, max_seconds=1e-9)
    assert (best, found) == (0, [])


def test_comparisons_made_before_count_where_time_is_short():
    """The first alternative is not known, so one that is takes its place."""
    known = [tune.Comparison("wider", -20.0, 0.1, 0.0), tune.Comparison("narrow", -90.0, 0.1, 0.0)]
    best, found = tune.choose(
        alternatives(), comparing(None, 3), seed=0, known=known, max_seconds=0.0
    )
    assert found == known
    assert best == 1


def test_time_is_that_of_all_comparisons():
    _, whole = tune.choose(alternatives(), comparing(None, 3), seed=0)
    first = whole[0].seconds
    _, found = tune.choose(alternatives(), comparing(None, 3), seed=0, max_seconds=1e3 * first)
    assert [each.log_evidence for each in found] == [each.log_evidence for each in whole]
