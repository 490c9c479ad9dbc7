"""scikit-learn's own checks: an estimator that passes them works wherever scikit-learn's do.

None is expected to fail. `check_array_api_input` runs only where SCIPY_ARRAY_API=1 is set before
scipy is imported (scikit-learn skips it otherwise); it passes then."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pmcnet import PMCNetClassifier, PMCNetRegressor

QUICK = {
    "hidden_layer_sizes": (3,),
    "prior_std": 1.0,
    "method": "annealed",
    "method_options": {"n_islands": 4, "n_particles": 8},
}
ESTIMATORS = [PMCNetClassifier(**QUICK), PMCNetRegressor(**QUICK)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
