#pragma once
#include <span>
#include <vector>

namespace dlscale::regression {

/// Adjusted p-values that control the false discovery rate [Benjamini & Hochberg 1995]: sorted
/// ascending, p_(i) becomes min over k ≥ i of min(1, M p_(k) / k). Calling every adjusted value ≤ q
/// a discovery keeps the expected share of false ones at or under q. This holds for independent or
/// positively dependent tests, as metrics of one session are. Returned in the order given; values
/// lie in [0, 1].
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace dlscale::regression
