#pragma once
#include <span>
#include <vector>

namespace dlscale::report {

/// Adjusted p-values that control the false discovery rate [Benjamini & Hochberg 1995]: in the
/// order of size, p_(i) becomes min over k ≥ i of min(1, M p_(k) / k). Calling a discovery whatever
/// has an adjusted value ≤ q keeps the expected share of false ones at or under q if the tests are
/// independent or positively dependent, as metrics of one session are. In the order given.
/// Values lie in [0, 1].
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace dlscale::report
