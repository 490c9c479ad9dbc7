"""What drives the predictions of a fitted model."""

from collections.abc import Sequence
from typing import Any

from pmcnet.estimators.explanations.effects import Effects, effects_of
from pmcnet.estimators.explanations.explanation import Explanation, explanation_of
from pmcnet.estimators.explanations.importances import Importance, importance_of
from pmcnet.estimators.fitted_model import FittedModel


class ExplainedModel(FittedModel):
    """Contributions of columns to predictions, effects of columns, and their importance."""

    def explain(
        self,
        X: Any,
        background: Any = None,
        *,
        n_networks: int = 100,
        n_background: int = 100,
        n_orders: int | None = None,
        random_state: int = 0,
    ) -> Explanation:
        """What each column contributes to the prediction of each row: Shapley values.

        Of E[y] in units of y, or of probabilities: that of the second of two classes, those of all
        of more. Each network has its own, so they have credible intervals. They sum to the
        prediction of the networks used, less the average prediction over the background.

        Args:
            X: rows to explain.
            background: rows from which a row takes the columns that it does not keep; absent, the
                training rows that the model holds, or the rows of X where it holds none.
            n_networks: drawn from the posterior.
            n_background: rows of the background, at most; they are drawn at random.
            n_orders: orders of the columns for each row of the background. Absent, up to 8 columns
                have exact values, and more columns 4 orders and a Monte Carlo error.
            random_state: of what is drawn.
        """
        sizes = (n_networks, n_background, n_orders)
        return explanation_of(self, X, background, *sizes, random_state)

    def effects(
        self,
        X: Any,
        features: Sequence[str] | None = None,
        *,
        n_networks: int = 100,
        n_rows: int = 300,
        n_points: int = 20,
        random_state: int = 0,
    ) -> Effects:
        """How predictions change with each column, on average and for single rows, with bands.

        Partial dependence and accumulated local effects of E[y], or of probabilities as in
        `explain`, and the pairs of columns that act together. Bands are of the posterior: they say
        how well the average effect is known, not how far rows scatter around it.

        Args:
            X: rows to average over, such as the training rows; a table, not encoded rows.
            features: names of columns; absent, all.
            n_networks: drawn from the posterior.
            n_rows: of X, at most; they are drawn at random.
            n_points: of a column, at most.
            random_state: of what is drawn.
        """
        return effects_of(self, X, features, n_networks, n_rows, n_points, random_state)

    def importance(
        self,
        X: Any,
        y: Any,
        *,
        n_networks: int = 100,
        n_rows: int = 300,
        n_repeats: int = 5,
        shapley: bool = False,
        random_state: int = 0,
    ) -> Importance:
        """How much the model relies on each column: the log score lost when it is shuffled.

        In nats per row, for each network of the posterior, with credible intervals over them; and
        for the averaged prediction, with a standard error over the rows.

        Args:
            X: rows, rather not those of training.
            y: their responses.
            n_networks: drawn from the posterior.
            n_rows: of X, at most; they are drawn at random.
            n_repeats: permutations of each column.
            shapley: whether the average size of Shapley values follows, of 50 of the rows.
            random_state: of what is drawn.
        """
        sizes = (n_networks, n_rows, n_repeats, shapley)
        return importance_of(self, X, y, *sizes, random_state)
