"""What can be asked of a fitted model, whatever it predicts."""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_is_fitted,
)
from torch import Tensor

from pmcnet.ais.verdict import Verdict
from pmcnet.bnn import Network, ParticlePosterior
from pmcnet.bnn.likelihoods.response import Noise, Units
from pmcnet.errors import InputError
from pmcnet.estimators import model_file
from pmcnet.estimators.cached_network import CachedNetwork
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.conformal.calibration_rows import GivenRows, readable
from pmcnet.estimators.conformal.stored_calibration import Calibration
from pmcnet.estimators.encoding import Encoder, described_columns
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.formulation import Formulation, FoundPrior
from pmcnet.estimators.input_rows import Unseen, check_seen, checked_rows
from pmcnet.estimators.kept_rows import KeptRows
from pmcnet.estimators.networks import ModuleSource
from pmcnet.estimators.novelty import (
    Novelty,
    NoveltyScale,
    distances,
    epistemic_share,
    why_unknown,
)
from pmcnet.estimators.predictions import Array, AveragedPrediction, EncodedRows, Uncertainty
from pmcnet.estimators.reference_rows import ReferenceRows
from pmcnet.estimators.relevance import relevance_of
from pmcnet.estimators.update import Update
from pmcnet.methods.settings import Value


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """A posterior with the encoder of its rows: predictions, uncertainty, files."""

    unseen: Unseen
    posterior_: ParticlePosterior
    verdict_: Verdict
    calibration_: Calibration | None
    history_: list[dict[str, Any]]
    method_: str
    method_reason_: str
    method_options_: dict[str, Value]
    likelihood_: str
    noise_: Noise
    prior_std_: FoundPrior
    formulation_reason_: str
    comparisons_: list[dict[str, Any]]
    prior_trials_: list[dict[str, float]]
    prior_seconds_: float
    encoder_: Encoder
    n_features_in_: int
    update_: Update | None
    training_rows_: KeptRows | None
    reference_rows_: ReferenceRows | None
    novelty_scale_: NoveltyScale | None

    @property
    def formulation_(self) -> Formulation:
        """Likelihood, noise and prior as they were settled."""
        return Formulation(self.likelihood_, self.noise_, self.prior_std_)

    @property
    def columns_(self) -> list[dict[str, str]]:
        """How each column of the table was read: its kind, what it became, and why."""
        check_is_fitted(self)
        return described_columns(self.encoder_)

    @property
    def feature_relevance_(self) -> Any:
        """Columns by the scale of their weights, with credible intervals; of scales by input.

        The prior's median is 1.
        """
        check_is_fitted(self)
        return relevance_of(self.posterior_, self.encoder_)

    def predictive(self, X: Any) -> AveragedPrediction:
        """The averaged prediction with its uncertainty, from one pass over the posterior."""
        posterior, x = self._question(X)
        return AveragedPrediction.of(posterior.predict(x), self._units())

    def _with_errors(self, X: Any) -> AveragedPrediction:
        """`predictive`, refused where nothing tells the Monte Carlo error."""
        found = self.predictive(X)
        if not self.posterior_.n_islands:
            raise InputError(
                "return_error needs independent islands or chains, and this model has none (method "
                f"{self.method_}). Fit with method='annealed' or 'hmc'."
            )
        return found

    def uncertainty(self, X: Any) -> Uncertainty:
        """How uncertain each row is: by noise in the data, or as networks disagree."""
        return Uncertainty(*self.predictive(X)[1:4])

    def novelty(self, X: Any) -> Novelty:
        """How unlike the training rows each row is, and whether more so than 99 % of them."""
        rows = self.encoded(X)
        found = self.novelty_of(rows, self.predictive(rows))
        if found is None:
            raise InputError(why_unknown(self.encoder_))
        return found

    def novelty_of(self, rows: EncodedRows, found: AveragedPrediction) -> Novelty | None:
        """`novelty` of rows that have been predicted; None of a model that cannot know."""
        if self.reference_rows_ is None or self.novelty_scale_ is None:
            return None
        distance = distances(rows.inputs, self.reference_rows_.inputs)
        return self.novelty_scale_.novelty(distance, epistemic_share(found))

    def thinned(self, n_passes: int, random_state: int = 0) -> Self:
        """The same model with `n_passes` networks drawn by their weights: faster, noisier."""
        check_is_fitted(self)
        other = copy(self)
        other.posterior_ = self.posterior_.thinned(n_passes, random_state)
        return other

    def encoded(self, X: Any) -> EncodedRows:
        """Rows that every method takes for X without encoding them again."""
        check_is_fitted(self)
        return X if isinstance(X, EncodedRows) else self._inputs(self._cells(X))

    def cached(self) -> Self:
        """The same model; questions about the same encoded rows share one pass of the networks."""
        check_is_fitted(self)
        network = cast(Network, CachedNetwork(self.posterior_.network))
        other = copy(self)
        other.posterior_ = replace(self.posterior_, network=network)
        return other

    def save(
        self, path: str | Path, *, training_rows: bool = False, reference_rows: bool = True
    ) -> Path:
        """Write the fitted model as a folder of safetensors and JSON; see `docs/estimators.md`.

        Args:
            path: the folder to make.
            training_rows: whether it holds the training rows, as the network sees them, so that the
                model that is loaded can be updated.
            reference_rows: whether it holds up to 200 of the training rows, as the network sees
                them, by which novelty and explanations of other rows are known.
        """
        check_is_fitted(self)
        kept = {"training_rows": training_rows, "reference_rows": reference_rows}
        return model_file.save(self, path, **kept)

    @classmethod
    def load(cls, path: str | Path, *, module: ModuleSource = None, device: str = "auto") -> Self:
        """The model that was saved there; nothing in the files is executed.

        Args:
            path: what `save` returned.
            module: for a model of your own network: the same module or factory again.
            device: where to predict.
        """
        return model_file.load(cls, path, module=module, device=device)

    def _targets(self, y: Any) -> Tensor:
        """Responses as the likelihood takes them (N,) or (N, 2)."""
        raise NotImplementedError

    def _units(self) -> Units:
        """The units in which the network predicts y."""
        return Units()

    def _cells(self, X: Any) -> Matrix:
        """Rows as numbers, after the checks of a table to predict."""
        rows = self.encoder_.rows(checked_rows(self, X, reset=False))
        check_seen(self.encoder_, rows, self.unseen)
        return rows

    def _inputs(self, rows: Matrix) -> EncodedRows:
        """Rows as numbers -> the network's inputs."""
        encoded = torch.as_tensor(self.encoder_.encode(rows))
        return EncodedRows(encoded.to(self.posterior_.samples.theta))

    def _unseen_rows(self, held_out: GivenRows) -> GivenRows:
        """Those of the rows that the model can predict; a level that it never saw is no error."""
        return readable(held_out, lambda x: self.encoder_.encode(self.encoder_.rows(x)))

    def _calibration_rows(self, unseen: GivenRows) -> tuple[EncodedRows, Array]:
        """Encoded rows, and their responses (n,)."""
        y = unseen.y.reshape(len(unseen.y), -1)[:, 0]
        return self._inputs(self.encoder_.rows(unseen.x)), y

    def _question(self, X: Any) -> tuple[ParticlePosterior, Tensor]:
        """What predicts these rows, and the network's inputs."""
        rows = self.encoded(X)  # refuses to go on without a fit
        return predicting(self.posterior_, rows)

    def _draws(self, X: Any, n_passes: int, seed: int) -> Array:
        posterior, x = self._question(X)
        draws = posterior.draws(x, n_passes=n_passes, seed=seed)
        return np.asarray(draws.double().cpu().numpy())
