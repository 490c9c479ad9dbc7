"""Bayesian neural networks: modules and data into targets, weighted draws into predictions."""

from pmcnet.bnn.augmentation import Augmentation, FlipAndCrop, RandomAffine
from pmcnet.bnn.gauss_newton import GaussNewtonTarget
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.likelihoods.categorical import Bernoulli, Categorical
from pmcnet.bnn.likelihoods.censored import CensoredLogLogistic, CensoredWeibull
from pmcnet.bnn.likelihoods.counts import NegativeBinomial, Poisson
from pmcnet.bnn.likelihoods.fractions import Beta
from pmcnet.bnn.likelihoods.gaussian import Gaussian, LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.generalised_gaussian import GeneralisedGaussian
from pmcnet.bnn.likelihoods.known_noise import KnownGaussian
from pmcnet.bnn.likelihoods.location_scale import Regression
from pmcnet.bnn.likelihoods.multi_target import MultiGaussian, MultiStudentT
from pmcnet.bnn.likelihoods.ordinal import Ordinal
from pmcnet.bnn.likelihoods.positive import LogNormal, RowLogNormal
from pmcnet.bnn.networks.banded_conv import BandedConv2d
from pmcnet.bnn.networks.base import Layout, Network, Parameter
from pmcnet.bnn.networks.hierarchical import HierarchicalMLP
from pmcnet.bnn.networks.lenet import LeNet5
from pmcnet.bnn.networks.mlp import MLP
from pmcnet.bnn.networks.module import ModuleNetwork
from pmcnet.bnn.networks.resnet import ResNet20, ResNet20FRN
from pmcnet.bnn.networks.wide_conv import WideConv2d
from pmcnet.bnn.posterior import (
    AnnealedPosterior,
    ChainPosterior,
    IslandPosterior,
    ParticlePosterior,
    Population,
    RecordedPosterior,
)
from pmcnet.bnn.prediction import Predictive
from pmcnet.bnn.priors.base import Prior
from pmcnet.bnn.priors.filter_length import at_prior_length
from pmcnet.bnn.priors.independent import GaussianPrior, LaplacePrior, ScaleMixturePrior
from pmcnet.bnn.priors.per_layer import LayerGaussianPrior
from pmcnet.bnn.target import BayesianTarget

__all__ = [
    "MLP",
    "AnnealedPosterior",
    "Augmentation",
    "BandedConv2d",
    "BayesianTarget",
    "Bernoulli",
    "Beta",
    "Categorical",
    "CensoredLogLogistic",
    "CensoredWeibull",
    "ChainPosterior",
    "FlipAndCrop",
    "GaussNewtonTarget",
    "Gaussian",
    "GaussianPrior",
    "GeneralisedGaussian",
    "HierarchicalMLP",
    "IslandPosterior",
    "KnownGaussian",
    "LaplacePrior",
    "LayerGaussianPrior",
    "Layout",
    "LeNet5",
    "LearnedGaussian",
    "Likelihood",
    "LogNormal",
    "ModuleNetwork",
    "MultiGaussian",
    "MultiStudentT",
    "NegativeBinomial",
    "Network",
    "Ordinal",
    "Parameter",
    "ParticlePosterior",
    "Poisson",
    "Population",
    "Predictive",
    "Prior",
    "RandomAffine",
    "RecordedPosterior",
    "Regression",
    "ResNet20",
    "ResNet20FRN",
    "RowGaussian",
    "RowLogNormal",
    "ScaleMixturePrior",
    "WideConv2d",
    "at_prior_length",
]
