"""Two fits that the checks share: with the noise that the data have, and with a third of it."""

import pytest

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetRegressor


@pytest.fixture(scope="session")
def right():
    return fitted(0.6)


@pytest.fixture(scope="session")
def wrong():
    return fitted(0.2)


def fitted(noise):
    return PMCNetRegressor(likelihood="gaussian", noise=noise, **QUICK).fit(*rows(80))
