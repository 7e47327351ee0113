#pragma once
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/roofline/nominal/nominal_roofline.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A network under the roofline of a data sheet.
struct NominalRooflineView {
  const Network* network = nullptr;
  std::string device;  ///< its name for people
  Run run;             ///< batch and precision count
  model::NominalPlacement placement;
};

/// Layers that run the same kernels, all their passes together, longest first.
struct LayerGroup {
  std::string name;  ///< of the first layer
  std::string kind;
  int layers = 1;
  model::NominalWork work;
  /// "conv3_1 and 2 alike"
  [[nodiscard]] std::string text() const;
};
std::vector<LayerGroup> layer_groups(const NominalRooflineView& view);

/// The ceilings of the data sheet, then the groups of layers: intensity, bound, attainable and
/// modelled rate, the time of each bound, the modelled time and its share of a training step. The
/// longest 20 groups have a row each. Records have a row for each step of the network. JSON:
/// {"schema": "dlscale.nominal_roofline", "version": 1, …}.
Document nominal_roofline_document(const NominalRooflineView& view);

}  // namespace dlscale::report
