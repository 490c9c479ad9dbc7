"""How a fitted model shows itself: the page of its report, and the card in a notebook."""

from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike
from sklearn import get_config  # type: ignore[import-untyped]

from pmcnet.estimators.fitted_model import FittedModel


class ReportedModel(FittedModel):
    """The report as one HTML file, and its first card where a notebook shows the model."""

    def report(
        self,
        path: str | Path,
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        exposure: ArrayLike | None = None,
        n_passes: int = 100,
        random_state: int = 0,
        what_if: bool = True,
    ) -> Path:
        """Write the page of this model, one HTML file, and return its path.

        Args:
            path: the file to make.
            X: test rows, which the fit has not seen; without them the page has the verdict,
                diagnostics, settings, columns, and leave-one-out of the rows that are kept.
            y: what is true of them, as `fit` takes it.
            title: of the page.
            exposure: of counts, as `predict` takes it.
            n_passes: draws behind credible intervals.
            random_state: of those draws, and of the checks.
            what_if: whether the page predicts by itself, by up to 300 kB of networks.
        """
        from pmcnet.estimators.evaluation.model_report import Asked, write_page

        self._check_single("a report")
        asked = Asked(title, exposure, n_passes, random_state, what_if)
        return write_page(cast(Any, self), path, X, y, asked)

    def _repr_html_inner(self) -> str:
        """What a notebook shows: the first card of a fitted model, and else the settings."""
        from pmcnet.estimators.evaluation.model_report import card_html

        if not hasattr(self, "posterior_"):
            return str(super()._repr_html_inner())
        return card_html(cast(Any, self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same, as notebooks ask for it."""
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._repr_html_inner()
        return shown
