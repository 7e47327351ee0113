#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model::sheet {

/// A range of a number, both ends > 0.
struct Span {
  double least = 0;
  double most = 0;
};

/// Trainings that the constants of kernels.yaml were fitted to, in words and ranges.
struct SheetDomain {
  std::vector<std::string> makers;  ///< of GPUs: NVIDIA
  std::vector<std::string> dtypes;  ///< names of DType
  std::vector<std::string> layers;  ///< kinds of layers; depthwise is one
  Span launched;                    ///< years of GPUs
  Span f32_peak;                    ///< flop/s
  Span half_peak;                   ///< flop/s in 16 bits
  Span memory_bandwidth;            ///< bytes/s
  Span images;                      ///< a GPU and iteration
  Span sequences;                   ///< the same
};

/// Reads the section `domain` of a file of constants. Throws ConfigError.
SheetDomain load_sheet_domain(const std::filesystem::path& path);
/// The domain of configs/models/kernels.yaml, which is read once.
const SheetDomain& nominal_domain();

/// The differences of a training from all that were fitted, a clause each: "nothing by AMD was
/// fitted". A rate or batch may leave its range by a quarter. The maker is the first word of the
/// device's name; the year is unknown where its data sheet cannot be read.
std::vector<std::string> beyond(const SheetDomain& domain, const Device& device,
                                const Network& network, const Run& run);

/// The range with ends that are further by scaling::outside_stretch on a logarithmic scale, the
/// convention for trainings beyond the domain of a fit.
TimeRange stretched(const TimeRange& range);

}  // namespace dlscale::model::sheet
