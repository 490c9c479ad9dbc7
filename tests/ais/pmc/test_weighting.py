import math

import torch

from pmcnet import ais, rng

MODES = torch.tensor([[-3.0], [3.0]], dtype=torch.float64)
TARGET = ais.analytic.mixture(MODES, torch.ones(2, 1, 1, dtype=torch.float64)).target


def evidences(weighting, n_runs):
    """Z of two proposals equal to the components, one draw each (Elvira et al. 2017, table 2)."""
    proposals = ais.dm_pmc.init(MODES, sigma=1.0, seed=0).proposals
    theta = proposals.draw(
        rng.streams(0, 0, 2), n_runs
    )  # (2, n_runs, 1): run r takes one draw of each
    log_weight = TARGET.log_density(theta.flatten(0, 1)).reshape(2, -1) - weighting(
        proposals, theta, 1 << 30
    )
    return log_weight.exp().mean(0)


def test_mixture_weights_give_the_evidence_exactly_when_proposals_are_the_components():
    torch.testing.assert_close(
        evidences(ais.DeterministicMixture(), 20_000),
        torch.ones(20_000).double(),
        rtol=1e-12,
        atol=0,
    )


def test_own_proposal_weights_have_a_huge_variance():
    """w = (1 + e^(6x - 18)) / 2 has variance of order e^36; 2e5 runs see a part (7891)."""
    z = evidences(ais.OwnProposal(), 200_000)
    assert z.var() > 100
    assert (
        abs(z.median() - 0.5) < 1e-3
    )  # most runs miss the rare huge weights: each sees half of the evidence


def test_own_and_mixture_agree_for_one_proposal():
    state = ais.dm_pmc.init(torch.zeros(1, 4, dtype=torch.float64), sigma=2.0, seed=0)
    theta = state.proposals.draw(rng.streams(0, 0, 1), 50)
    own = ais.OwnProposal()(state.proposals, theta, 1 << 20)
    torch.testing.assert_close(ais.DeterministicMixture()(state.proposals, theta, 1 << 20), own)
    assert math.isfinite(float(own.sum()))
