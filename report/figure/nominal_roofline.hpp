#pragma once
#include "report/figure/figures.hpp"
#include "report/kernels/nominal_table.hpp"

namespace dlscale::report::figure {

/// "roofline": a network under the roofline of a data sheet, in two panels. The first has the
/// ceilings of arithmetic and of each level of memory, with a mark for each group of layers: its
/// modelled rate against its operations a byte of memory, the larger the longer it takes. Both axes
/// are logarithmic. The second has the time of the longest groups as bars, with the times that
/// arithmetic, shared memory and memory alone would take.
Figure nominal_roofline(const NominalRooflineView& view);

}  // namespace dlscale::report::figure
