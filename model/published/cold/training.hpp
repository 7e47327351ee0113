#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::cold {

/// One GPU's part of a training that gives no measured point: what data sheet, layers and software
/// say of it.
struct ColdTraining {
  std::shared_ptr<const Network> network;
  /// The data sheet of the GPU; several, where its name leaves open which board is meant ("P100").
  std::vector<Device> devices;
  std::string architecture;  ///< of the GPU: "volta"
  Run run;                   ///< precision, launches, and the samples of a micro-batch
  ComputeTraits traits;
  double micro_batches = 1;  ///< ≥ 1, of an iteration; their gradients are added up
  /// Samples of a micro-batch over those of the run, which must be whole numbers.
  double partial = 1;
};

/// A reason why a training is not predicted, as a sentence.
using Reason = std::string;

/// Networks by file and number of tokens, each read once.
class NetworkFiles {
 public:
  /// The network of a case by its name, for sequences of `tokens` (0: as the file says), or the
  /// reason why there is none: no file has its layers, or they have other parameters.
  std::variant<std::shared_ptr<const Network>, Reason> find(const cases::CaseNetwork& network,
                                                            int tokens, bool first_1x1_strided);

 private:
  std::map<std::pair<std::string, int>, std::shared_ptr<const Network>> read_;
};

/// The precision in which a device computes what a case calls so; empty for 8 bits and fewer.
/// "fp32" is tf32 on devices that have it, which is the default of the vendor's libraries.
std::optional<DType> compute_dtype(std::string_view precision, const Device& device);

/// One GPU's part of a training, or the reason why data sheets do not tell it: layers or data sheet
/// are not known, a precision has no law, or scaling::not_covered().
std::variant<ColdTraining, Reason> cold_training(const cases::ScalingCase& training,
                                                 const scaling::FactSources& sources,
                                                 NetworkFiles& networks);

/// The trainings, where those that state no micro-batch have that of their series: of others of the
/// same set, network, GPU, precision and framework, with the same batch a GPU or in all.
std::vector<cases::ScalingCase> with_micro_batches(std::span<const cases::ScalingCase> trainings);

/// The training as scaling from one GPU that takes `iteration` sees it.
cases::ScalingCase with_given(cases::ScalingCase training, Seconds iteration);

}  // namespace dlscale::model::cold
