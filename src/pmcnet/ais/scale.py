"""Covariances of M Gaussians: `Full` or `Diagonal`. No other file asks which.

Each holds one square root of the covariance, so it is positive definite by construction:
Sigma_m = L_m L_m^T (`Full`, L lower triangular) or diag(sigma_m^2) (`Diagonal`).
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from pmcnet.io.state_checks import check_tensor, require


class Scale(Protocol):
    """M square roots of covariance matrices on R^D."""

    @classmethod
    def isotropic(cls, sigma: float, loc: Tensor) -> Self:
        """Sigma_m = sigma^2 I for each row of loc (M, D)."""
        ...

    @classmethod
    def from_covariance(cls, covariance: Tensor) -> tuple[Self, Tensor]:
        """The square roots, and which of the M (True) were positive definite."""
        ...

    @staticmethod
    def scatter(theta: Tensor, weight: Tensor) -> Tensor:
        """Covariance of draws (M, K, D) with weights (M, K) around their weighted mean."""
        ...

    def __iter__(self) -> Iterator[Tensor]:
        """The tensors it is made of and from, their first axis over the M."""
        ...

    @property
    def covariance(self) -> Tensor:
        """The covariances, in this structure."""
        ...

    @property
    def log_det(self) -> Tensor:
        """Log-determinant of each square root (M,)."""
        ...

    @property
    def numbers_per_block(self) -> int:
        """How many numbers describe one covariance."""
        ...

    def colour_(self, noise: Tensor, buffer: Tensor | None = None) -> Tensor:
        """L_m z for noise (M, K, D), overwritten; `buffer`, of its shape, may hold the result."""
        ...

    def matvec(self, vector: Tensor) -> Tensor:
        """Sigma_m v_m for vectors (M, D)."""
        ...

    def whiten(self, delta: Tensor) -> Tensor:
        """L_m^-1 delta for differences (M, K, D); differentiable, nothing is overwritten."""
        ...

    def inverse(self) -> Self:
        """The inverse square roots: `inverse().colour_(delta)` whitens."""
        ...

    def check(self, loc: Tensor) -> None:
        """Refuse what is no square root of a covariance for each row of loc (M, D)."""
        ...

    def take(self, blocks: slice) -> Self:
        """Some of the M."""
        ...

    def clone(self) -> Self:
        """A copy that may be written to."""
        ...

    def put_(self, blocks: slice, values: Self, valid: Tensor) -> None:
        """Overwrite those of the blocks whose new value is valid."""
        ...


# From about this half dimension on, skipping the zero quarter of a triangular product pays for the
# second call.
_WORTH_HALVING = 24


class Full(NamedTuple):
    """Sigma_m = L_m L_m^T with L_m lower triangular; `factor` is (M, D, D)."""

    factor: Tensor

    @classmethod
    def isotropic(cls, sigma: float, loc: Tensor) -> Self:
        """Sigma_m = sigma^2 I."""
        n_proposals, dim = loc.shape
        eye = torch.eye(dim, dtype=loc.dtype, device=loc.device)
        return cls((sigma * eye).repeat(n_proposals, 1, 1))

    @classmethod
    def from_covariance(cls, covariance: Tensor) -> tuple[Self, Tensor]:
        """Cholesky factors of covariances (M, D, D), and which of them exist.

        A singular matrix may pass the factorisation with pivots made of rounding errors, so each
        squared pivot must also be more than rounding beside its variance. NaN fails both
        comparisons.
        """
        factor, info = torch.linalg.cholesky_ex(covariance)
        pivot, variance = factor.diagonal(dim1=-2, dim2=-1), covariance.diagonal(dim1=-2, dim2=-1)
        rounding = covariance.shape[-1] * torch.finfo(covariance.dtype).eps
        regular = (pivot.square() > rounding * variance) & pivot.isfinite()
        return cls(factor), (info == 0) & regular.all(-1)

    @staticmethod
    def scatter(theta: Tensor, weight: Tensor) -> Tensor:
        """sum_k w_k (theta_k - mean)(theta_k - mean)^T for each block: (M, D, D)."""
        mean = weight[:, None] @ theta  # (M, 1, D)
        rooted = (theta - mean).mul_(weight.sqrt()[..., None])  # (M, K, D)
        return rooted.mT @ rooted

    @property
    def covariance(self) -> Tensor:
        """Sigma_m (M, D, D)."""
        return self.factor @ self.factor.mT

    @property
    def log_det(self) -> Tensor:
        """Log det L_m (M,)."""
        return self.factor.diagonal(dim1=-2, dim2=-1).double().log().sum(-1)

    @property
    def numbers_per_block(self) -> int:
        """D^2."""
        return self.factor[0].numel()

    def colour_(self, noise: Tensor, buffer: Tensor | None = None) -> Tensor:
        """L_m z; the first half of the result needs the first half of z only."""
        half = noise.shape[-1] // 2
        result = torch.empty_like(noise) if buffer is None else buffer
        if half < _WORTH_HALVING:
            return torch.matmul(noise, self.factor.mT, out=result)
        torch.matmul(noise[..., :half], self.factor[..., :half, :half].mT, out=result[..., :half])
        torch.matmul(noise, self.factor[..., half:, :].mT, out=result[..., half:])
        return result

    def matvec(self, vector: Tensor) -> Tensor:
        """Sigma_m v_m = L_m (L_m^T v_m)."""
        return (self.factor @ (self.factor.mT @ vector[..., None]))[..., 0]

    def whiten(self, delta: Tensor) -> Tensor:
        """L_m^-1 delta by triangular solution."""
        white: Tensor = torch.linalg.solve_triangular(self.factor, delta.mT, upper=False)
        return white.mT

    def inverse(self) -> Self:
        """L_m^-1, so that whitening many draws is a matrix product and not a triangular solve."""
        eye = torch.eye(self.factor.shape[-1], dtype=self.factor.dtype, device=self.factor.device)
        return type(self)(
            torch.linalg.solve_triangular(self.factor, eye.expand_as(self.factor), upper=False)
        )

    def check(self, loc: Tensor) -> None:
        """Refuse factors that are not lower triangular with a positive diagonal."""
        check_tensor(self.factor, "factor", 3, (*loc.shape, loc.shape[1]), (loc.dtype,))
        positive = bool((self.factor.diagonal(dim1=-2, dim2=-1) > 0).all())
        require(positive, "factor", "positive on its diagonal")
        require(not self.factor.triu(1).any(), "factor", "lower triangular")

    def take(self, blocks: slice) -> Self:
        """Some of the M."""
        return type(self)(self.factor[blocks])

    def clone(self) -> Self:
        """A copy that may be written to."""
        return type(self)(self.factor.clone())

    def put_(self, blocks: slice, values: Self, valid: Tensor) -> None:
        """Overwrite those of the blocks whose new value is valid."""
        self.factor[blocks] = torch.where(valid[:, None, None], values.factor, self.factor[blocks])


class Diagonal(NamedTuple):
    """Sigma_m = diag(sigma_m^2); `sigma` (M, D) holds standard deviations."""

    sigma: Tensor

    @classmethod
    def isotropic(cls, sigma: float, loc: Tensor) -> Self:
        """Sigma_m = sigma^2 I."""
        return cls(torch.full_like(loc, sigma))

    @classmethod
    def from_covariance(cls, covariance: Tensor) -> tuple[Self, Tensor]:
        """Standard deviations of variances (M, D), and which rows are positive and finite."""
        sigma = covariance.sqrt()
        return cls(sigma), ((sigma > 0) & sigma.isfinite()).all(-1)

    @staticmethod
    def scatter(theta: Tensor, weight: Tensor) -> Tensor:
        """sum_k w_k (theta_k - mean)^2 for each block and coordinate: (M, D)."""
        mean = weight[:, None] @ theta  # (M, 1, D)
        return (weight[:, None] @ (theta - mean).square_())[:, 0]

    @property
    def covariance(self) -> Tensor:
        """Variances (M, D)."""
        return self.sigma.square()

    @property
    def log_det(self) -> Tensor:
        """sum_d log sigma_md (M,)."""
        return self.sigma.double().log().sum(-1)

    @property
    def numbers_per_block(self) -> int:
        """D."""
        return self.sigma[0].numel()

    def colour_(self, noise: Tensor, buffer: Tensor | None = None) -> Tensor:
        """sigma_m z, in place."""
        return noise.mul_(self.sigma[:, None])

    def matvec(self, vector: Tensor) -> Tensor:
        """sigma_m^2 v_m."""
        return self.sigma.square() * vector

    def whiten(self, delta: Tensor) -> Tensor:
        """delta / sigma_m."""
        return delta / self.sigma[:, None]

    @property
    def n_groups(self) -> int:
        """M."""
        return len(self.sigma)

    def launch(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """sigma_m z and z / sigma_m, see `hmc.inverse_mass`."""
        return noise * self.sigma[:, None], noise / self.sigma[:, None]

    def multiply(self, vectors: Tensor) -> Tensor:
        """sigma_m^2 v for many vectors (M, K, D)."""
        return self.sigma.square()[:, None] * vectors

    def inverse(self) -> Self:
        """1 / sigma_m."""
        return type(self)(self.sigma.reciprocal())

    def check(self, loc: Tensor) -> None:
        """Refuse standard deviations that are not positive."""
        check_tensor(self.sigma, "sigma", 2, tuple(loc.shape), (loc.dtype,))
        require(bool((self.sigma > 0).all()), "sigma", "positive")

    def take(self, blocks: slice) -> Self:
        """Some of the M."""
        return type(self)(self.sigma[blocks])

    def clone(self) -> Self:
        """A copy that may be written to."""
        return type(self)(self.sigma.clone())

    def put_(self, blocks: slice, values: Self, valid: Tensor) -> None:
        """Overwrite those of the blocks whose new value is valid."""
        self.sigma[blocks] = torch.where(valid[:, None], values.sigma, self.sigma[blocks])
