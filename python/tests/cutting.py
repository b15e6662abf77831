"""Functions that cut, as a user has them in a module of their own."""

import numpy as np

LEAST = 40.0


def hard(momenta):
    """A first jet of p p > w+ j above LEAST."""
    return np.hypot(momenta[:, 3, 1], momenta[:, 3, 2]) > LEAST


def central(momenta):
    """One within a unit of rapidity, of events whose particles are as in their file."""
    if not ((momenta[:, 0, 3] > 0.0) & (momenta[:, 1, 3] < 0.0)).all():
        raise ValueError("a beam goes the wrong way")
    if momenta.shape[1:] != (4, 4) or not np.allclose(
        momenta[:, :2].sum(axis=1), momenta[:, 2:].sum(axis=1), atol=1e-6
    ):
        raise ValueError("momentum is not conserved")
    return abs(np.arctanh(momenta[:, 3, 3] / momenta[:, 3, 0])) < 1.0


def all_(momenta):
    return np.ones(len(momenta), dtype=bool)


def none(momenta):
    return np.zeros(len(momenta), dtype=bool)


def numbers(momenta):
    return np.full(len(momenta), np.nan)


def short(momenta):
    return np.ones(len(momenta) - 1, dtype=bool)


def wrong(momenta):
    return momenta[:, 9, 0] > 0.0


def tail(momenta):
    """A bias: as ptj_bias with 60 GeV and a power of 2, of the first jet of p p > w+ j."""
    return (np.hypot(momenta[:, 3, 1], momenta[:, 3, 2]) / 60.0) ** 2


def with_package(momenta):
    """A cut that calls the library in a worker."""
    import mebridge

    assert mebridge.__version__ and issubclass(mebridge.Error, Exception)
    return mebridge.Process("g g > t t~").evaluate(momenta, alpha_s=0.1) > 0.0
