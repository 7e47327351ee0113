#pragma once
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

// Ratios of times that were measured under one condition, so that the machine's own speed cancels
// out. Results of one host. Of several measurements of one implementation the median counts: of
// repeats, and of what a backend chose by itself where it is what an algorithm asked for by name
// is, too.

/// Our Winograd F(4×4,3×3), the better of fused and not, over oneDNN's Winograd, where both ran:
/// a row for whatever was measured together and each pass. Without rows where there is none.
Table winograd_summary(std::span<const ResultFile> results);
/// The same case by case, with oneDNN's direct convolution beside them.
Table winograd_ratios(std::span<const ResultFile> results);

/// The fastest other algorithm over our convolution by Fourier transforms, the better of whole and
/// tiled, at filters of 5 × 5 and larger.
Table fourier_ratios(std::span<const ResultFile> results);

/// Speed of our im2col as a share of that of matrix products which bench gemm measured, where m, n
/// and k of the product of all images are 256 or more. Of three: its own products by the very call
/// that it makes (backend native, caches hot, as its patches are; on one thread); the same products
/// by the fastest backend under the condition of the convolution; and the product of all images,
/// likewise. A dash where one was not measured: notes have the commands that do it.
Table product_shares(std::span<const ResultFile> results);

}  // namespace dlscale::report
