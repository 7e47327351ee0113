"""Fits, nested fits and intervals."""
import numpy as np
from scipy.optimize import least_squares, minimize

from kernels import PRIOR

SCALE = 0.06                       # of the pseudo-Huber loss on the logarithm
INTERVAL_PRIOR = np.array([-2.4, 0.4, 0.1, 0.3, 0.0, 0.2])
INTERVAL_SPREAD = np.array([1.0, 0.3, 0.3, 0.3, 0.3, 0.3])
INTERVAL_TERMS = ["one", "half", "transformer", "old", "several_gpus", "several_nodes"]
WIDEN = 1.2                        # a source that was not seen differs from those that were


def weights(groups):
    """1/sqrt(n) a case: between all cases alike and all sources alike."""
    names, inverse, n = np.unique(groups, return_inverse=True, return_counts=True)
    return n[inverse] ** -0.5


def fit(trainings, mask, start=None):
    """-> constants by name, and the point in units of the priors' standard deviations."""
    names = list(PRIOR)
    centre = np.array([PRIOR[n][0] for n in names])
    spread = np.array([PRIOR[n][1] for n in names])
    w = np.sqrt(weights(trainings.set[mask]))

    def residuals(z):
        c = dict(zip(names, centre * np.exp(spread * z)))
        r = (np.log(trainings.step(c)) - trainings.measured)[mask] / SCALE
        return np.concatenate([np.sign(r) * np.sqrt(2 * (np.sqrt(1 + r * r) - 1)) * w, z])

    z = least_squares(residuals, np.zeros(len(names)) if start is None else start, diff_step=1e-3, max_nfev=12,
                      xtol=1e-3, ftol=1e-4).x
    return dict(zip(names, centre * np.exp(spread * z))), z


def leave_out(one, groups, all_cases=None, all_groups=None):
    """Log time of each case by the fit without its group; constants of all fits; the fit of all."""
    everything, z = fit(one, np.ones(len(one.cases), bool))
    target = one if all_cases is None else all_cases
    where = groups if all_groups is None else all_groups
    log, fits = np.zeros(len(target.cases)), {}
    for g in sorted(set(where)):
        c = fit(one, groups != g, z)[0] if g in set(groups) else everything
        if g in set(groups):
            fits[g] = c
        k = where == g
        log[k] = target.log_time(c)[k]
    return log, fits, everything


def summary(error, groups, weight_by=None):
    """-> rows (group, n, mean, median, bias), and mean, median and bias with all groups alike."""
    rows = []
    for g in sorted(set(groups)):
        e = error[groups == g]
        rows.append((g, len(e), np.mean(abs(e)), np.median(abs(e)), np.mean(e)))
    value = np.concatenate([abs(error[groups == r[0]]) for r in rows])
    weight = np.concatenate([np.full(r[1], 1.0 / r[1]) for r in rows])
    return rows, (np.mean([r[2] for r in rows]), quantile(value, weight, 0.5), np.mean([r[4] for r in rows]))


def quantile(value, weight, q):
    i = np.argsort(value)
    total = np.cumsum(weight[i])
    return value[i][np.searchsorted(total, q * total[-1])]


def jackknife(fits, everything):
    """Bounds of 90 % of each constant from its spread over the fits without one source."""
    out = {}
    n = len(fits)
    for name, value in everything.items():
        logs = np.log([c[name] for c in fits.values()])
        sd = np.sqrt((n - 1) / n * np.sum((logs - logs.mean()) ** 2))
        out[name] = (value * np.exp(-1.645 * sd), value * np.exp(1.645 * sd))
    return out


def interval_terms(trainings):
    rows = []
    for i, c in enumerate(trainings.cases):
        way = trainings.ways[trainings.way_of[i]]
        rows.append([1, way.half, "hidden" in c["network"], trainings.age[trainings.way_of[i]] > 0, c["gpus"] > 1, c["nodes"] > 1])
    return np.array(rows, float)


def fit_interval(residual, terms, groups):
    """log residual = scale x quantile: coefficients of log scale, and the 5 and 95 % quantiles, widened."""
    w = weights(groups)
    w /= w.sum()

    def loss(b):
        log = terms @ b
        return np.sum(w * (log + abs(residual) * np.exp(-log))) + np.sum(((b - INTERVAL_PRIOR) / INTERVAL_SPREAD) ** 2) / 300

    b = minimize(loss, INTERVAL_PRIOR, method="BFGS").x
    z = residual / np.exp(terms @ b)
    return b, WIDEN * quantile(z, w, 0.05), WIDEN * quantile(z, w, 0.95)


def nested_interval(residual, terms, groups):
    """Whether each case lies in the interval made without its source, and the interval's width."""
    covered, width = np.zeros(len(residual)), np.zeros(len(residual))
    for g in sorted(set(groups)):
        k = groups == g
        b, low, high = fit_interval(residual[~k], terms[~k], groups[~k])
        s = np.exp(terms[k] @ b)
        covered[k] = (residual[k] >= low * s) & (residual[k] <= high * s)
        width[k] = np.exp(-low * s) - np.exp(-high * s)
    return covered, width
