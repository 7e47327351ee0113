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
#include "core/network/file/published_network.hpp"
#include "core/run/published_software.hpp"
#include "model/published/scaling/facts/framework_traits.hpp"
#include "model/published/scaling/facts/network_kind.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model::cold {
namespace {

using cases::ScalingCase;

/// The file with the layers of a network; empty if there is none. The stride of a ResNet's blocks
/// is in their 3 × 3 convolution (v1.5), or in the first 1 × 1.
std::string file_of(std::string_view network, bool first_1x1_strided) {
  constexpr std::string_view in_3x3 = "_v1.5";
  const std::string file = find_network(network);
  if (!first_1x1_strided || !file.ends_with(in_3x3)) return file;
  return file.substr(0, file.size() - in_3x3.size());
}

/// Whether layers with so many parameters can be those of a network: definitions differ slightly.
bool may_be(const Network& network, std::int64_t parameters) {
  const double ratio =
      static_cast<double>(network.parameter_count()) / static_cast<double>(parameters);
  return ratio > 0.8 && ratio < 1.25;
}

/// The sheet that a GPU's name finds, or all boards of its chip whose names begin with that name.
std::vector<Device> devices_of(std::string_view gpu, const DeviceSheet& found,
                               const DeviceCatalogue& sheets) {
  const std::string word = scaling::plain_name(gpu);
  std::vector<Device> boards;
  for (const DeviceSheet& sheet : sheets.sheets()) {
    if (sheet.chip == found.chip && scaling::plain_name(sheet.id).starts_with(word)) {
      boards.push_back(nominal_device(sheet, sheet::fitted_launch));
    }
  }
  if (boards.empty()) boards.push_back(nominal_device(found, sheet::fitted_launch));
  return boards;
}

/// How the software of a case trains a network in a precision. Question answering runs at 384
/// tokens, and BioBERT labels words: neither decodes a vocabulary.
PublishedSoftware software_of(const ScalingCase& training, const Network& network, DType dtype,
                              const scaling::FactSources& sources) {
  const ElementWidth width =
      element_bytes(dtype) == 2 ? ElementWidth::two_bytes : ElementWidth::four_bytes;
  PublishedSoftware software =
      published_software(sources.frameworks, training.run.framework,
                         {sheet::family_of(network), width, training.network.name},
                         scaling::stated_release(training.run.framework));
  constexpr std::int64_t tokens_of_answers = 384;
  const bool tuned = training.network.seq == tokens_of_answers ||
                     training.source.find("biobert") != std::string::npos;
  if (tuned) software.traits.head = DecodedTokens::none;
  return software;
}

/// Samples that the layers take: sequences, where a case counts tokens.
double samples_of(const ScalingCase& training, const Network& network, double batch) {
  return training.sample_unit == "token" ? batch / network.input().height : batch;
}

/// Samples of a micro-batch, as the case counts them.
double micro_batch_of(const ScalingCase& training) {
  return std::min(training.run.parallel.micro_batch.value_or(training.batch_per_gpu),
                  training.batch_per_gpu);
}

/// The reason why samples do not fill a GPU, if they do not.
std::optional<Reason> check_samples(double samples) {
  if (samples < 1) return "its GPUs share a sample, and the layers here are those of whole ones";
  if (samples <= most_images_per_rank) return {};
  return fmt::format(
      "{:.6g} samples a GPU are more than any memory holds at once, and how they are divided is "
      "not stated (run.parallel.micro_batch)",
      samples);
}

int tokens_of(const cases::CaseNetwork& network) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(network.seq.value_or(0), most));
}

/// Takes traits, and the network as the software computes it: with its strides, without padding.
std::optional<Reason> take_software(const ScalingCase& training,
                                    const scaling::FactSources& sources, NetworkFiles& networks,
                                    ColdTraining& made) {
  const PublishedSoftware software = software_of(training, *made.network, made.run.dtype, sources);
  made.traits = software.traits;
  made.run.launch = software.launch;
  int tokens = tokens_of(training.network);
  made.traits.tokens = 1;
  if (tokens > 0) {
    made.traits.tokens = computed_tokens(software.traits, tokens, made.run.batch);
    tokens = static_cast<int>(std::lround(tokens * made.traits.tokens));
  }
  auto network = networks.find(training.network, tokens, software.traits.first_1x1_strided);
  if (const Reason* reason = std::get_if<Reason>(&network)) return *reason;
  made.network = std::get<std::shared_ptr<const Network>>(network);
  return {};
}

/// The fields that trainings of a series share, with a batch of one GPU or of all.
using Series = std::tuple<std::string, std::string, std::optional<std::int64_t>, std::string,
                          std::string, std::string, double>;

Series series_of(const ScalingCase& one, double batch) {
  return {
      one.set, one.network.name, one.network.seq, one.cluster.gpu, one.precision, one.run.framework,
      batch};
}

}  // namespace

std::variant<std::shared_ptr<const Network>, Reason> NetworkFiles::find(
    const cases::CaseNetwork& network, int tokens, bool first_1x1_strided) {
  const std::string file = file_of(network.name, first_1x1_strided);
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
  made.devices = devices_of(training.cluster.gpu, *sheet, sources.devices);
  made.architecture = sheet->architecture;
  if (!std::ranges::all_of(made.devices, sheet::has_kernel_times)) {
    return fmt::format("the data sheet of {} lacks clocks or multiprocessors", sheet->name);
  }
  const auto dtype = compute_dtype(training.precision, made.devices.front());
  if (!dtype) {
    return fmt::format("kernels in \"{}\" have no law here, only those of 32 and 16 bits",
                       training.precision);
  }
  made.run.dtype = *dtype;
  auto network = networks.find(training.network, tokens_of(training.network), false);
  if (const Reason* reason = std::get_if<Reason>(&network)) return *reason;
  made.network = std::get<std::shared_ptr<const Network>>(network);
  const double micro_batch = micro_batch_of(training);
  const double samples = samples_of(training, *made.network, micro_batch);
  if (auto reason = check_samples(samples)) return *reason;
  made.micro_batches = std::max(1.0, std::round(training.batch_per_gpu / micro_batch));
  made.run.batch = static_cast<int>(std::lround(samples));
  made.partial = samples / made.run.batch;
  if (auto reason = take_software(training, sources, networks, made)) return *reason;
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
