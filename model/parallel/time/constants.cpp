#include "model/parallel/time/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr std::array fitted_keys{
    TimeConstantKey{"product", &TimeConstants::product},
    TimeConstantKey{"tile_start", &TimeConstants::tile_start},
    TimeConstantKey{"ridge", &TimeConstants::ridge},
    TimeConstantKey{"memory", &TimeConstants::memory},
    TimeConstantKey{"elementwise", &TimeConstants::elementwise},
    TimeConstantKey{"attention_triton", &TimeConstants::attention_triton},
    TimeConstantKey{"attention_flash2", &TimeConstants::attention_flash2},
    TimeConstantKey{"attention_fall", &TimeConstants::attention_fall},
    TimeConstantKey{"attention_native", &TimeConstants::attention_native},
    TimeConstantKey{"gap", &TimeConstants::gap},
    TimeConstantKey{"launch", &TimeConstants::launch},
    TimeConstantKey{"host_collective", &TimeConstants::host_collective},
    TimeConstantKey{"node_start", &TimeConstants::node_start},
    TimeConstantKey{"network_start", &TimeConstants::network_start},
    TimeConstantKey{"slow_network_start", &TimeConstants::slow_network_start},
    TimeConstantKey{"node_share", &TimeConstants::node_share},
    TimeConstantKey{"network_share", &TimeConstants::network_share},
    TimeConstantKey{"step_fixed", &TimeConstants::step_fixed},
    TimeConstantKey{"tensor_update", &TimeConstants::tensor_update},
    TimeConstantKey{"stage_message", &TimeConstants::stage_message},
    TimeConstantKey{"interference", &TimeConstants::interference},
    TimeConstantKey{"mixed_queue", &TimeConstants::mixed_queue},
    TimeConstantKey{"stragglers", &TimeConstants::stragglers},
    TimeConstantKey{"loss", &TimeConstants::loss},
    TimeConstantKey{"update_bytes", &TimeConstants::update_bytes},
    TimeConstantKey{"shard_copies", &TimeConstants::shard_copies},
};

constexpr std::array fixed_keys{
    TimeConstantKey{"tile_start_power", &TimeConstants::tile_start_power},
    TimeConstantKey{"host_power", &TimeConstants::host_power},
    TimeConstantKey{"ring_steps", &TimeConstants::ring_steps},
    TimeConstantKey{"hidden_engine", &TimeConstants::hidden_engine},
    TimeConstantKey{"hidden_async", &TimeConstants::hidden_async},
    TimeConstantKey{"hidden_experts", &TimeConstants::hidden_experts},
    TimeConstantKey{"hidden_dual", &TimeConstants::hidden_dual},
    TimeConstantKey{"imbalance", &TimeConstants::imbalance},
    TimeConstantKey{"power", &TimeConstants::power},
    TimeConstantKey{"joules", &TimeConstants::joules},
    TimeConstantKey{"process", &TimeConstants::process},
    TimeConstantKey{"eight_bits", &TimeConstants::eight_bits},
    TimeConstantKey{"four_bits", &TimeConstants::four_bits},
    TimeConstantKey{"four_bit_rate", &TimeConstants::four_bit_rate},
    TimeConstantKey{"other_makers", &TimeConstants::other_makers},
    TimeConstantKey{"greatest_share", &TimeConstants::greatest_share},
    TimeConstantKey{"narrow_flash2", &TimeConstants::narrow_flash2},
    TimeConstantKey{"narrow_native", &TimeConstants::narrow_native},
    TimeConstantKey{"casts", &TimeConstants::casts},
    TimeConstantKey{"fused_casts", &TimeConstants::fused_casts},
    TimeConstantKey{"compiled_host", &TimeConstants::compiled_host},
    TimeConstantKey{"unseen_family", &TimeConstants::unseen_family},
    TimeConstantKey{"embedding_bytes", &TimeConstants::embedding_bytes},
    TimeConstantKey{"loss_message", &TimeConstants::loss_message},
    TimeConstantKey{"layer_tensors", &TimeConstants::layer_tensors},
    TimeConstantKey{"accumulation_bytes", &TimeConstants::accumulation_bytes},
    TimeConstantKey{"unfused_update", &TimeConstants::unfused_update},
    TimeConstantKey{"wide_gradient", &TimeConstants::wide_gradient},
    TimeConstantKey{"gather_copies", &TimeConstants::gather_copies},
    TimeConstantKey{"gradient_copies", &TimeConstants::gradient_copies},
    TimeConstantKey{"crossed_message", &TimeConstants::crossed_message},
    TimeConstantKey{"head_launches", &TimeConstants::head_launches},
    TimeConstantKey{"head_collectives", &TimeConstants::head_collectives},
    TimeConstantKey{"embedding_launches", &TimeConstants::embedding_launches},
    TimeConstantKey{"embedding_collectives", &TimeConstants::embedding_collectives},
    TimeConstantKey{"backward_launches", &TimeConstants::backward_launches},
    TimeConstantKey{"other_launches", &TimeConstants::other_launches},
    TimeConstantKey{"async_launches", &TimeConstants::async_launches},
    TimeConstantKey{"cast_launches", &TimeConstants::cast_launches},
    TimeConstantKey{"expert_launches", &TimeConstants::expert_launches},
    TimeConstantKey{"ring_interference", &TimeConstants::ring_interference},
    TimeConstantKey{"ring_step", &TimeConstants::ring_step},
    TimeConstantKey{"probe_left", &TimeConstants::probe_left},
};

using IntervalKey = ConstantKey<IntervalConstants>;
constexpr std::array interval_keys{
    IntervalKey{"always", &IntervalConstants::always},
    IntervalKey{"host", &IntervalConstants::host},
    IntervalKey{"messages", &IntervalConstants::messages},
    IntervalKey{"pipeline", &IntervalConstants::pipeline},
    IntervalKey{"new_card", &IntervalConstants::new_card},
    IntervalKey{"other_maker", &IntervalConstants::other_maker},
    IntervalKey{"eight_bits", &IntervalConstants::eight_bits},
    IntervalKey{"four_bits", &IntervalConstants::four_bits},
    IntervalKey{"experts", &IntervalConstants::experts},
    IntervalKey{"experts_across", &IntervalConstants::experts_across},
    IntervalKey{"latent", &IntervalConstants::latent},
    IntervalKey{"context", &IntervalConstants::context},
    IntervalKey{"new_family", &IntervalConstants::new_family},
    IntervalKey{"large", &IntervalConstants::large},
    IntervalKey{"no_family", &IntervalConstants::no_family},
    IntervalKey{"low", &IntervalConstants::low},
    IntervalKey{"high", &IntervalConstants::high},
};

using WaitingKey = ConstantKey<WaitingConstants>;
constexpr std::array waiting_keys{
    WaitingKey{"nearly_full", &WaitingConstants::nearly_full},
    WaitingKey{"slow", &WaitingConstants::slow},
    WaitingKey{"full", &WaitingConstants::full},
    WaitingKey{"likely", &WaitingConstants::likely},
    WaitingKey{"most", &WaitingConstants::most},
};

using MeasuredKey = ConstantKey<MeasuredConstants>;
constexpr std::array measured_keys{
    MeasuredKey{"noise", &MeasuredConstants::noise},
    MeasuredKey{"micro_batch", &MeasuredConstants::micro_batch},
    MeasuredKey{"greatest_move", &MeasuredConstants::greatest_move},
    MeasuredKey{"host_and_links", &MeasuredConstants::host_and_links},
    MeasuredKey{"kernels", &MeasuredConstants::kernels},
    MeasuredKey{"elementwise", &MeasuredConstants::elementwise},
    MeasuredKey{"correlation", &MeasuredConstants::correlation},
    MeasuredKey{"left_gpus", &MeasuredConstants::left_gpus},
    MeasuredKey{"left_micro_batch", &MeasuredConstants::left_micro_batch},
    MeasuredKey{"left_cuts", &MeasuredConstants::left_cuts},
    MeasuredKey{"left_stages", &MeasuredConstants::left_stages},
    MeasuredKey{"widest", &MeasuredConstants::widest},
    MeasuredKey{"repetition", &MeasuredConstants::repetition},
};

using RecomputeKey = ConstantKey<RecomputeChances>;
constexpr std::array recompute_keys{
    RecomputeKey{"none", &RecomputeChances::none},
    RecomputeKey{"selective", &RecomputeChances::selective},
    RecomputeKey{"full", &RecomputeChances::full},
    RecomputeKey{"unstated", &RecomputeChances::unstated},
};

constexpr NumberRange positive{1e-9, 1e6};
constexpr NumberRange chances{1e-9, 1};

template <class Keys>
std::vector<std::string_view> names_of(const Keys& keys) {
  std::vector<std::string_view> names;
  for (const auto& one : keys) names.push_back(one.key);
  return names;
}

void read_fitted(const ConfigMap& map, ParallelTimeFile& read) {
  map.allow_only(names_of(fitted_keys));
  for (const TimeConstantKey& one : fitted_keys) {
    const FittedConstant constant = read_fitted_constant(map.map(one.key), positive);
    read.constants.*one.value = constant.value;
    read.fitted.emplace(one.key, constant);
  }
}

/// Constants with a value and a source each.
template <class Keys, class Constants>
void read_sourced(const ConfigMap& map, const Keys& keys, Constants& read,
                  NumberRange range = positive) {
  map.allow_only(names_of(keys));
  for (const ConstantKey<Constants>& one : keys) {
    const ConfigMap fixed = map.map(one.key);
    fixed.allow_only({"value", "source"});
    static_cast<void>(fixed.name("source"));
    read.*one.value = fixed.number("value", range);
  }
}

void read_without(const ConfigMap& file, ParallelTimeFile& read) {
  if (!file.has("without")) return;
  for (const ConfigMap& one : file.maps("without")) {
    one.allow_only({"set", "fitted"});
    const ConfigMap fitted = one.map("fitted");
    fitted.allow_only(names_of(fitted_keys));
    TimeConstants constants = read.constants;
    for (const TimeConstantKey& key : fitted_keys) {
      constants.*key.value = fitted.number(key.key, positive);
    }
    if (!read.without.emplace(one.name("set"), constants).second) {
      one.refuse("set", "there twice", "Leave each set out once.");
    }
  }
}

void read_interval(const ConfigMap& map, IntervalConstants& read) {
  std::vector<std::string_view> keys = names_of(interval_keys);
  keys.emplace_back("source");
  map.allow_only(keys);
  static_cast<void>(map.name("source"));
  for (const IntervalKey& one : interval_keys) {
    const bool is_low = one.key == "low";
    read.*one.value =
        map.number(one.key, is_low ? NumberRange{-10, -0.01} : NumberRange{0.001, 10});
  }
}

AttentionKernel parse_attention(std::string_view word) {
  if (word == "in_memory") return AttentionKernel::in_memory;
  if (word == "triton") return AttentionKernel::triton;
  if (word == "flash2") return AttentionKernel::flash2;
  if (word == "native") return AttentionKernel::native;
  throw ConfigError(fmt::format(
      "{} are no kernels of attention. Write in_memory, triton, flash2 or native.", word));
}

TensorOverlap parse_tensor_overlap(std::string_view word) {
  if (word == "pieces") return TensorOverlap::pieces;
  if (word == "compiled") return TensorOverlap::compiled;
  if (word == "buffers") return TensorOverlap::buffers;
  throw ConfigError(fmt::format(
      "{} sends no messages. Write pieces, compiled or buffers, or leave it out.", word));
}

Compiling parse_compiling(std::string_view word) {
  if (word == "on_request") return Compiling::on_request;
  if (word == "always") return Compiling::always;
  throw ConfigError(
      fmt::format("{} says not when. Write on_request or always, or leave it out.", word));
}

Passes read_passes(const ConfigMap& map, std::string_view key) {
  const std::vector<int> counts = map.integers(key, {0, 1000});
  if (counts.size() != 2) map.refuse(key, "not two counts", "Write [forward, backward].");
  return {static_cast<double>(counts[0]), static_cast<double>(counts[1])};
}

memory::StateBytes read_states(const ConfigMap& map) {
  const std::vector<int> bytes = map.integers("states", {0, 64});
  if (bytes.size() != 5) {
    map.refuse("states", "not five numbers of bytes",
               "Write [weights, gradients, main gradients, main weights, moments].");
  }
  return {static_cast<double>(bytes[0]), static_cast<double>(bytes[1]),
          static_cast<double>(bytes[2]), static_cast<double>(bytes[3]),
          static_cast<double>(bytes[4])};
}

StepWork read_work(const ConfigMap& map) {
  return {.norms = read_passes(map, "norms"),
          .copies = read_passes(map, "copies"),
          .activation = read_passes(map, "activation"),
          .launches = map.number("launches", {1, 1000}),
          .loss_bytes = map.number("loss", {1, 1000})};
}

/// Counts and traits of a family that has its own.
Family read_traits(const ConfigMap& map) {
  map.allow_only({"name",      "words",       "memory",       "runs",           "norms",
                  "copies",    "activation",  "launches",     "loss",           "states",
                  "attention", "compiles",    "overlaps",     "newer",          "tensor_overlap",
                  "one_queue", "ties_tables", "frees_blocks", "copies_weights", "offloaded",
                  "fitted"});
  Family read;
  read.own_work = read_work(map);
  read.state_bytes = read_states(map);
  read.attention = read_word(map, "attention", parse_attention);
  if (map.has("compiles")) read.compiling = read_word(map, "compiles", parse_compiling);
  read.overlaps = map.flag_or("overlaps", false);
  if (map.has("tensor_overlap")) {
    read.tensor_overlap = read_word(map, "tensor_overlap", parse_tensor_overlap);
  }
  read.one_queue = map.flag_or("one_queue", false);
  read.ties_tables = map.flag_or("ties_tables", false);
  read.frees_blocks = map.flag_or("frees_blocks", false);
  read.copies_weights = map.flag_or("copies_weights", false);
  read.offloaded = map.number_or("offloaded", 0, {0, 1});
  read.fitted = map.flag_or("fitted", true);
  read.newer = map.text_or("newer", "");
  return read;
}

/// One that computes as a family before it, never compiled, and keeps memory or runs plans
/// otherwise.
Family read_kin(const ConfigMap& map, const std::vector<Family>& before) {
  map.allow_only({"name", "words", "memory", "runs", "as", "fitted"});
  const auto found = std::ranges::find(before, map.name("as"), &Family::name);
  if (found == before.end())
    map.refuse("as", "not a family before it", "Name one, or write counts.");
  Family read = *found;
  read.compiling = Compiling::never;
  read.fitted = map.flag_or("fitted", read.fitted);
  return read;
}

Family read_family(const ConfigMap& map, const std::vector<Family>& before) {
  Family read = map.has("as") ? read_kin(map, before) : read_traits(map);
  read.name = map.name("name");
  read.memory = memory::implementation_named(map.name("memory")).name;
  read.runs = map.text_or("runs", "");
  try {
    read.words = std::regex(map.text("words"), std::regex::ECMAScript | std::regex::icase);
  } catch (const std::regex_error&) {
    map.refuse("words", "no regular expression", "Write words, as \"jax|xla\".");
  }
  return read;
}

/// The number of trainings that constants were fitted to. The names of their data are for readers.
int fitted_trainings(const ConfigMap& file) {
  static_cast<void>(file.texts("cases"));
  int trainings = 0;
  for (const ConfigMap& one : file.maps("sets")) {
    one.allow_only({"set", "trainings"});
    static_cast<void>(one.name("set"));
    trainings += static_cast<int>(one.integer("trainings", {1, 1'000'000}));
  }
  return trainings;
}

/// Throws for the name of a family that there is not.
void check_families(const ParallelTimeFile& file) {
  static_cast<void>(file.family(file.other));
  for (const Family& one : file.families) {
    if (!one.newer.empty()) static_cast<void>(file.family(one.newer));
  }
}

}  // namespace

const TimeConstants& ParallelTimeFile::constants_for(std::string_view set) const {
  const auto found = without.find(set);
  return found == without.end() ? constants : found->second;
}

const Family* ParallelTimeFile::family_of_words(std::string_view framework) const {
  const auto found = std::ranges::find_if(families, [&](const Family& one) {
    return std::regex_search(framework.begin(), framework.end(), one.words);
  });
  return found == families.end() ? nullptr : &*found;
}

memory::Implementation ParallelTimeFile::implementation_of(std::string_view framework) const {
  const Family* found = family_of_words(framework);
  return memory::implementation_named(found == nullptr ? family(other).memory : found->memory);
}

const Family* ParallelTimeFile::named_family(const FamilyQuestion& question) const {
  const Family* found = family_of_words(question.framework);
  if (found == nullptr) return nullptr;
  if (!found->newer.empty() && question.is_newer) return &family(found->newer);
  return found;
}

TimeConstants reached_by(const Family& family, TimeConstants constants) {
  if (family.fitted) return constants;
  for (double* share : {&constants.product, &constants.memory, &constants.attention_triton,
                        &constants.attention_flash2, &constants.attention_native}) {
    *share *= constants.unseen_family;
  }
  for (double* seconds : {&constants.gap, &constants.launch, &constants.host_collective}) {
    *seconds /= constants.unseen_family;
  }
  return constants;
}

std::span<const TimeConstantKey> fitted_time_constants() {
  return fitted_keys;
}

const Family& ParallelTimeFile::family(std::string_view name) const {
  const auto found = std::ranges::find(families, name, &Family::name);
  if (found == families.end()) {
    throw ConfigError(fmt::format(
        "The model of parallel times has no family {}. Add it to configs/models/parallel.yaml.",
        name));
  }
  return *found;
}

ParallelTimeFile load_parallel_times(const std::filesystem::path& path) {
  const ConfigMap file = ConfigMap::load(path);
  file.allow_only({"schema", "version", "cases", "sets", "fitted", "fixed", "without", "interval",
                   "waiting", "measured", "recompute", "compiled_steps", "families", "other"});
  if (file.text("schema") != "dlscale.parallel_times") {
    file.refuse("schema", "another kind of file", "Name a model of parallel times.");
  }
  if (file.integer("version", {0, 1'000'000}) != 1) {
    file.refuse("version", "this program reads 1", "Take the file that came with this program.");
  }
  ParallelTimeFile read;
  read.trainings = fitted_trainings(file);
  read_fitted(file.map("fitted"), read);
  read_sourced(file.map("fixed"), fixed_keys, read.constants);
  read_without(file, read);
  read_interval(file.map("interval"), read.interval);
  read_sourced(file.map("waiting"), waiting_keys, read.waiting);
  read_sourced(file.map("measured"), measured_keys, read.measured);
  read_sourced(file.map("recompute"), recompute_keys, read.recompute, chances);
  const ConfigMap compiled = file.map("compiled_steps");
  compiled.allow_only({"norms", "copies", "activation", "launches", "loss"});
  for (const ConfigMap& one : file.maps("families")) {
    read.families.push_back(read_family(one, read.families));
    read.families.back().compiled_work = read_work(compiled);
  }
  read.other = file.text("other");
  check_families(read);
  return read;
}

const ParallelTimeFile& parallel_times() {
  static const ParallelTimeFile file = load_parallel_times(find_config("models", "parallel"));
  return file;
}

}  // namespace dlscale::model::parallel_time
