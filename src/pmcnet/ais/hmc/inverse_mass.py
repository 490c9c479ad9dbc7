"""Inverse mass matrices of groups of particles: the covariances that scale Hamiltonian moves.

`ais.Diagonal` is one as well.
"""

from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from pmcnet.threads import in_parallel


class InverseMass(Protocol):
    """Covariances C_g of G groups."""

    @property
    def covariance(self) -> Tensor:
        """The covariances, in their structure, the first axis over groups."""
        ...

    @property
    def n_groups(self) -> int:
        """G."""
        ...

    def launch(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Velocities v ~ N(0, C_g) and momenta C_g^-1 v from standard normal noise (G, K, D)."""
        ...

    def multiply(self, vectors: Tensor) -> Tensor:
        """C_g v for vectors (G, K, D)."""
        ...

    def take(self, blocks: slice) -> Self:
        """Some of the groups."""
        ...


class OneDiagonal(NamedTuple):
    """C_g = diag(sigma^2) with sigma (D,), the same for all of `n_groups` groups."""

    sigma: Tensor
    n_groups: int

    @property
    def covariance(self) -> Tensor:
        """Variances (G, D)."""
        return self.sigma.square().expand(self.n_groups, -1)

    def launch(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Sigma z and z / sigma."""
        return noise * self.sigma, noise / self.sigma

    def multiply(self, vectors: Tensor) -> Tensor:
        """sigma^2 v."""
        return self.sigma.square() * vectors

    def take(self, blocks: slice) -> Self:
        """As many of the groups."""
        return self._replace(n_groups=blocks.stop - blocks.start)


class Dense(NamedTuple):
    """C_g = P_g^-1 of precisions P_g = R_g R_g^T, R_g lower triangular: both (G, D, D)."""

    root: Tensor
    covariance: Tensor

    @classmethod
    def of(cls, precision: Tensor) -> Self | None:
        """From precisions (G, D, D); None where one of them is not positive definite."""
        root, covariance = torch.empty_like(precision), torch.empty_like(precision)
        failed = torch.empty(len(precision), dtype=torch.int32, device=precision.device)

        def invert(groups: int | slice) -> None:
            torch.linalg.cholesky_ex(precision[groups], out=(root[groups], failed[groups]))
            torch.cholesky_inverse(root[groups], out=covariance[groups])

        if precision.device.type == "cpu":
            in_parallel(invert, range(len(precision)))
        else:
            invert(slice(None))
        variance = covariance.diagonal(dim1=-2, dim2=-1)
        regular = (failed == 0).all() & (variance > 0).all() & variance.isfinite().all()
        return cls(root, covariance) if bool(regular) else None

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.root)

    def launch(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """R^-T z and R z."""
        velocity: Tensor = torch.linalg.solve_triangular(self.root, noise, upper=False, left=False)
        return velocity, noise @ self.root.mT

    def multiply(self, vectors: Tensor) -> Tensor:
        """Rows times C_g, which is symmetric."""
        return vectors @ self.covariance

    def take(self, blocks: slice) -> Self:
        """Some of the groups."""
        return type(self)(self.root[blocks], self.covariance[blocks])


class LowRank(NamedTuple):
    """C_g = S_g (I + B_g^T B_g)^-1 S_g with B_g of fewer rows than columns, S_g diagonal.

    With the eigenvalues l and eigenvectors Q of B B^T, functions of the matrix in brackets are
    I + B^T Q diag(f) Q^T B: its inverse for f = -1 / (1 + l), the inverse of its root for
    f = (1 / sqrt(1 + l) - 1) / l, and its root for f = (sqrt(1 + l) - 1) / l.

    Args:
        sigma: the diagonals of S (G, D).
        rows: Q^T B (G, r, D).
        share: 1 / (1 + l) (G, r).
    """

    sigma: Tensor
    rows: Tensor
    share: Tensor

    @classmethod
    def of(cls, sigma: Tensor, rows: Tensor) -> Self | None:
        """From the diagonals of S (G, D) and B (G, r, D); None where these are not finite."""
        products = rows @ rows.mT  # (G, r, r)
        if not bool(products.isfinite().all() & sigma.isfinite().all()):
            return None
        values, vectors = torch.linalg.eigh(products)
        return cls(sigma, vectors.mT @ rows, 1 / (1 + values.clamp(min=0)))

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.sigma)

    @property
    def covariance(self) -> Tensor:
        """C_g as matrices (G, D, D)."""
        eye = torch.eye(self.sigma.shape[-1], dtype=self.sigma.dtype, device=self.sigma.device)
        return self.multiply(eye.expand(self.n_groups, *eye.shape))

    def launch(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """S (I + B^T B)^(-1/2) z and S^-1 (I + B^T B)^(1/2) z."""
        root = self.share.sqrt()
        velocity = self._applied(-self.share / (1 + root), noise).mul_(self.sigma[:, None])
        return velocity, self._applied(root / (1 + root), noise).div_(self.sigma[:, None])

    def multiply(self, vectors: Tensor) -> Tensor:
        """S (I + B^T B)^-1 S v."""
        scaled = vectors * self.sigma[:, None]
        return self._applied(-self.share, scaled).mul_(self.sigma[:, None])

    def take(self, blocks: slice) -> Self:
        """Some of the groups."""
        return type(self)(*(part[blocks] for part in self))

    def _applied(self, f: Tensor, vectors: Tensor) -> Tensor:
        """V + v B^T Q diag(f) Q^T B."""
        inner = (vectors @ self.rows.mT).mul_(f[:, None])  # (G, K, r)
        return torch.baddbmm(vectors, inner, self.rows)
