"""Bayesian neural networks: modules and data into targets, weighted draws into predictions."""

from pmcnet.bnn.augmentation import Augmentation, FlipAndCrop, RandomAffine
from pmcnet.bnn.banded import BandedConv2d
from pmcnet.bnn.chain_posterior import ChainPosterior
from pmcnet.bnn.classes import Bernoulli, Categorical
from pmcnet.bnn.curvature import GaussNewtonTarget
from pmcnet.bnn.lengths import at_prior_length
from pmcnet.bnn.likelihoods import (
    Gaussian,
    GeneralisedGaussian,
    LearnedGaussian,
    Likelihood,
    Regression,
)
from pmcnet.bnn.module_network import ModuleNetwork
from pmcnet.bnn.nets import LeNet5, ResNet20, ResNet20FRN
from pmcnet.bnn.network import MLP, Layout, Network, Parameter
from pmcnet.bnn.posterior import AnnealedPosterior, ParticlePosterior, Population, Predictive, RecordedPosterior
from pmcnet.bnn.priors import GaussianPrior, LaplacePrior, LayerGaussianPrior, Prior, ScaleMixturePrior
from pmcnet.bnn.target import BayesianTarget
from pmcnet.bnn.wide import WideConv2d

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
