#include "model/published/cold/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "model/published/scaling/facts/framework_traits.hpp"
#include "model/published/scaling/facts/network_kind.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model::cold {
namespace {

using cases::ScalingCase;

/// The file with the layers of a network; empty if there is none. ResNets have the stride of a
/// block in its 3 × 3 convolution (v1.5), as most programs do.
std::string file_of(std::string_view network) {
  const std::string word = scaling::plain_name(network);
  const std::vector<std::string> names = config_names("networks");
  const auto named = [&](const std::string& wanted) {
    return std::ranges::find(names, wanted, scaling::plain_name);
  };
  for (const std::string& wanted : {word + "v15", word}) {
    if (const auto file = named(wanted); file != names.end() && word != "alexnet") return *file;
  }
  const scaling::NetworkKind& kind = scaling::network_kind(network);
  return kind.name == word && !kind.part ? std::string(kind.file) : std::string();
}

/// Whether layers with so many parameters can be those of a network: definitions differ slightly.
bool may_be(const Network& network, std::int64_t parameters) {
  const double ratio =
      static_cast<double>(network.parameter_count()) / static_cast<double>(parameters);
  return ratio > 0.8 && ratio < 1.25;
}

/// The profile of the framework that a case names; nullptr: none is meant.
const FrameworkProfile* profile_of(const ScalingCase& training,
                                   const scaling::FactSources& sources) {
  const std::string text = fmt::format("{}, {}", training.run.framework, training.network.name);
  return find_framework(sources.frameworks, text, scaling::stated_release(training.run.framework));
}

/// Samples that the layers take: sequences, where a case counts tokens.
double samples_of(const ScalingCase& training, const Network& network, double batch) {
  return training.sample_unit == "token" ? batch / network.input().height : batch;
}

/// Takes the samples of a micro-batch and their number.
std::optional<Reason> divide(const ScalingCase& training, ColdTraining& made) {
  const double micro = std::min(training.run.parallel.micro_batch.value_or(training.batch_per_gpu),
                                training.batch_per_gpu);
  const double samples = samples_of(training, *made.network, micro);
  if (samples < 1) return "its GPUs share a sample, and the layers here are those of whole ones";
  if (samples > most_images_per_rank) {
    return fmt::format(
        "{:.6g} samples a GPU are more than any memory holds at once, and how they are divided is "
        "not stated (run.parallel.micro_batch)",
        samples);
  }
  made.micro_batches = std::max(1.0, std::round(training.batch_per_gpu / micro));
  made.run.batch = static_cast<int>(std::lround(samples));
  made.partial = samples / made.run.batch;
  return {};
}

/// What trainings of a series share, with a batch of one GPU or of all.
using Series = std::tuple<std::string, std::string, std::optional<std::int64_t>, std::string,
                          std::string, std::string, double>;

Series series_of(const ScalingCase& one, double batch) {
  return {
      one.set, one.network.name, one.network.seq, one.cluster.gpu, one.precision, one.run.framework,
      batch};
}

}  // namespace

std::variant<std::shared_ptr<const Network>, Reason> NetworkFiles::find(
    const cases::CaseNetwork& network, int tokens) {
  const std::string file = file_of(network.name);
  if (file.empty()) {
    return fmt::format("the layers of \"{}\" are not known: no file of configs/networks has them",
                       network.name);
  }
  std::shared_ptr<const Network>& read = read_[{file, tokens}];
  try {
    if (!read) read = std::make_shared<const Network>(load_network_for(file, tokens));
  } catch (const ConfigError& error) {
    return Reason(error.what());  // such as more tokens than it has positions for
  }
  if (!may_be(*read, network.parameters)) {
    return fmt::format("\"{}\" has {} parameters and {} of configs/networks has {}: other layers",
                       network.name, network.parameters, file, read->parameter_count());
  }
  return read;
}

std::optional<DType> compute_dtype(std::string_view precision, const Device& device) {
  constexpr std::array<std::pair<std::string_view, DType>, 7> words{{{"fp32", DType::f32},
                                                                     {"tf32", DType::tf32},
                                                                     {"fp16", DType::f16},
                                                                     {"mixed-fp16", DType::f16},
                                                                     {"bf16", DType::bf16},
                                                                     {"mixed-bf16", DType::bf16},
                                                                     {"f32", DType::f32}}};
  const auto found = std::ranges::find(words, precision, [](const auto& one) { return one.first; });
  if (found == words.end()) return {};
  if (found->second == DType::f32 && device.peak.contains(DType::tf32)) return DType::tf32;
  return found->second;
}

std::variant<ColdTraining, Reason> cold_training(const ScalingCase& training,
                                                 const scaling::FactSources& sources,
                                                 NetworkFiles& networks) {
  if (auto reason = scaling::not_covered(with_given(training, Seconds(1)))) return *reason;
  const DeviceSheet* sheet = sources.devices.find(training.cluster.gpu);
  if (sheet == nullptr) {
    return fmt::format("\"{}\" has no data sheet in configs/devices, and nothing measured is given",
                       training.cluster.gpu);
  }
  ColdTraining made;
  made.device = nominal_device(*sheet, sheet::fitted_launch);
  made.architecture = sheet->architecture;
  if (!sheet::has_kernel_times(made.device)) {
    return fmt::format("the data sheet of {} lacks clocks or multiprocessors", sheet->name);
  }
  const auto dtype = compute_dtype(training.precision, made.device);
  if (!dtype) {
    return fmt::format("kernels in \"{}\" have no law here, only those of 32 and 16 bits",
                       training.precision);
  }
  made.run.dtype = *dtype;
  auto network =
      networks.find(training.network, static_cast<int>(training.network.seq.value_or(0)));
  if (const Reason* reason = std::get_if<Reason>(&network)) return *reason;
  made.network = std::get<std::shared_ptr<const Network>>(network);
  if (auto reason = divide(training, made)) return *reason;
  if (const FrameworkProfile* profile = profile_of(training, sources)) {
    made.traits = sheet::traits_for(*made.network, *dtype, profile->compute);
    const bool recorded =
        profile->launch.is_stated() && profile->launch.value() == KernelLaunch::recorded;
    made.run.launch = recorded ? Launch::graph : Launch::eager;
  }
  return made;
}

std::vector<ScalingCase> with_micro_batches(std::span<const ScalingCase> trainings) {
  std::map<Series, std::optional<double>> known;
  for (const ScalingCase& one : trainings) {
    const std::optional<double>& stated = one.run.parallel.micro_batch;
    if (!stated) continue;
    for (const double batch : {one.batch_per_gpu, one.global_batch}) {
      const auto [place, is_new] = known.emplace(series_of(one, batch), stated);
      if (!is_new && place->second != stated) place->second.reset();
    }
  }
  std::vector<ScalingCase> all(trainings.begin(), trainings.end());
  for (ScalingCase& one : all) {
    std::optional<double>& micro_batch = one.run.parallel.micro_batch;
    const auto found = known.find(series_of(one, one.batch_per_gpu));
    if (!micro_batch && found != known.end()) micro_batch = found->second;
  }
  return all;
}

ScalingCase with_given(ScalingCase training, Seconds iteration) {
  const double batch = training.batch_per_gpu;
  training.given = {{1, batch / iteration, batch, batch, "", false}};
  return training;
}

}  // namespace dlscale::model::cold
