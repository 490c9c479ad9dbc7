"""Bayesian neural networks: modules and data into targets, weighted draws into predictions."""

from pmcnet.bnn.augmentation import Augmentation, FlipAndCrop, RandomAffine
from pmcnet.bnn.chain_posterior import ChainPosterior
from pmcnet.bnn.gauss_newton import GaussNewtonTarget
from pmcnet.bnn.likelihoods.classification import Bernoulli, Categorical
from pmcnet.bnn.likelihoods.gaussian import (
    Gaussian,
    GeneralisedGaussian,
    LearnedGaussian,
    Likelihood,
    Regression,
)
from pmcnet.bnn.networks.architectures import LeNet5, ResNet20, ResNet20FRN
from pmcnet.bnn.networks.banded_conv import BandedConv2d
from pmcnet.bnn.networks.mlp import MLP, Layout, Network, Parameter
from pmcnet.bnn.networks.module import ModuleNetwork
from pmcnet.bnn.networks.wide_conv import WideConv2d
from pmcnet.bnn.posterior import (
    AnnealedPosterior,
    ParticlePosterior,
    Population,
    Predictive,
    RecordedPosterior,
)
from pmcnet.bnn.priors.filter_length import at_prior_length
from pmcnet.bnn.priors.independent import (
    GaussianPrior,
    LaplacePrior,
    LayerGaussianPrior,
    Prior,
    ScaleMixturePrior,
)
from pmcnet.bnn.target import BayesianTarget

__all__ = [
    "MLP",
    "AnnealedPosterior",
    "Augmentation",
    "BandedConv2d",
    "BayesianTarget",
    "Bernoulli",
    "Categorical",
    "ChainPosterior",
    "FlipAndCrop",
    "GaussNewtonTarget",
    "Gaussian",
    "GaussianPrior",
    "GeneralisedGaussian",
    "LaplacePrior",
    "LayerGaussianPrior",
    "Layout",
    "LeNet5",
    "LearnedGaussian",
    "Likelihood",
    "ModuleNetwork",
    "Network",
    "Parameter",
    "ParticlePosterior",
    "Population",
    "Predictive",
    "Prior",
    "RandomAffine",
    "RecordedPosterior",
    "Regression",
    "ResNet20",
    "ResNet20FRN",
    "ScaleMixturePrior",
    "WideConv2d",
    "at_prior_length",
]
