#pragma once
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

// Ratios of times measured under the same condition, so that the machine's own speed cancels out.
// Results come from one host. Of several measurements of one implementation the median counts; they
// are repeats, and backends' own choices that equal an algorithm requested by name.

/// Our Winograd F(4×4,3×3), the better of fused and not fused, over oneDNN's Winograd, where both
/// ran. One row for each group measured together and pass. Empty without such a case.
Table winograd_summary(std::span<const ResultFile> results);
/// The same case by case, beside oneDNN's direct convolution.
Table winograd_ratios(std::span<const ResultFile> results);

/// The fastest other algorithm over our convolution by Fourier transforms (the better of whole and
/// tiled), for filters of 5 × 5 and larger.
Table fourier_ratios(std::span<const ResultFile> results);

/// Speed of our im2col as a share of the speed of matrix products from bench gemm. Covers layers
/// where m, n and k of the product of all images are at least 256. The first reference is its own
/// products by the same call (backend native, hot caches as its patches are, one thread). The
/// second is the same products by the fastest backend under the condition of the convolution. The
/// third is the product of all images, likewise. A dash marks a missing measurement; notes give the
/// commands for it.
Table product_shares(std::span<const ResultFile> results);

}  // namespace dlscale::report
