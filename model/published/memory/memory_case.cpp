#include "model/published/memory/memory_case.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/parallel/time/device_facts.hpp"
#include "model/published/cases/json_fields.hpp"

namespace dlscale::model::memory {
namespace {

using cases::JsonFields;
using parallel_time::Precision;

constexpr std::string_view memory_schema = "dlscale.memory/1";
constexpr cases::WholeRange sizes{1, 1'000'000'000};
constexpr cases::WholeRange ranks{1, 1'000'000};
constexpr cases::RealRange state_bytes{0, 64};
constexpr cases::RealRange stage_layers{0, 1'000'000};

template <class Value, std::size_t N>
Value word(const JsonFields& of, std::string_view key,
           const std::array<std::pair<std::string_view, Value>, N>& known) {
  const std::string text = of.text(key);
  for (const auto& [name, value] : known) {
    if (name == text) return value;
  }
  std::string names;
  for (const auto& each : known) names += (names.empty() ? "" : ", ") + std::string(each.first);
  of.refuse(key, fmt::format("where one of {} is needed", names));
}

constexpr std::array<std::pair<std::string_view, MemoryCounter>, 3> counters{
    {{"allocated", MemoryCounter::allocated},
     {"reserved", MemoryCounter::reserved},
     {"device", MemoryCounter::device}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> scopes{
    {{"first_rank", true}, {"max_rank", false}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> attentions{
    {{"flash", true}, {"unfused", false}}};
constexpr std::array<std::pair<std::string_view, Recompute>, 4> recomputes{
    {{"none", Recompute::none},
     {"unknown", Recompute::none},
     {"selective", Recompute::selective},
     {"full", Recompute::full}}};

ExpertShape read_experts(const JsonFields& moe) {
  ExpertShape read;
  read.count = moe.whole("experts", sizes);
  read.active = moe.whole("experts_per_token", {1, read.count});
  read.ffn = moe.whole("expert_ffn", sizes);
  read.shared_ffn = moe.whole_if("shared_ffn", {0, sizes.most}).value_or(0);
  read.dense_layers = moe.whole_if("dense_layers", {0, sizes.most}).value_or(0);
  return read;
}

LatentAttention read_latent(const JsonFields& mla) {
  return {.query_rank = mla.whole("q_lora_rank", sizes),
          .key_value_rank = mla.whole("kv_lora_rank", sizes),
          .plain_width = mla.whole("qk_nope", sizes),
          .turned_width = mla.whole("qk_rope", sizes),
          .value_width = mla.whole("v", sizes)};
}

TransformerShape read_shape(const JsonFields& network) {
  network.expect_spelling({"name", "layers", "hidden", "heads", "kv_heads", "head_dim", "seq",
                           "vocab", "ffn", "gated_mlp", "tied_embeddings", "moe", "mla"});
  TransformerShape read;
  read.layers = network.whole("layers", {1, 100'000});
  read.hidden = network.whole("hidden", sizes);
  read.heads = network.whole("heads", sizes);
  read.kv_heads = network.whole("kv_heads", {1, read.heads});
  read.head_width = network.whole_if("head_dim", sizes).value_or(read.hidden / read.heads);
  read.ffn = network.whole("ffn", sizes);
  read.gated = network.flag_if("gated_mlp").value_or(false);
  read.vocabulary = network.whole("vocab", sizes);
  read.sequence = network.whole("seq", sizes);
  read.tied_embeddings = network.flag_if("tied_embeddings").value_or(false);
  if (const auto moe = network.object_if("moe")) read.experts = read_experts(*moe);
  if (const auto mla = network.object_if("mla")) read.latent = read_latent(*mla);
  return read;
}

StateBytes read_bytes(const JsonFields& of) {
  of.expect_spelling({"weights", "gradients", "main_gradients", "main_weights", "optimizer"});
  return {.weights = of.real("weights", state_bytes),
          .gradients = of.real("gradients", state_bytes),
          .main_gradients = of.real_if("main_gradients", state_bytes).value_or(0),
          .main_weights = of.real_if("main_weights", state_bytes).value_or(0),
          .moments = of.real("optimizer", state_bytes)};
}

std::string schedule_of(const JsonFields& parallel, int chunks) {
  const std::string schedule = parallel.text_if("schedule");
  if (chunks > 1) return "interleaved";
  return schedule.empty() || schedule == "afab" ? (schedule.empty() ? "1f1b" : "gpipe") : schedule;
}

void read_parallel(const JsonFields& parallel, MemorySetup& read) {
  parallel.expect_spelling({"micro_batch", "micro_batches", "virtual_pipeline", "schedule",
                            "sequence_parallel", "recompute", "zero_stage", "stage_layers"});
  read.data = parallel.count("dp", ranks);
  read.tensor = parallel.count("tp", ranks);
  read.stages = parallel.count("pp", {1, 10'000});
  read.context = parallel.count_if("cp", ranks).value_or(1);
  read.experts = parallel.count_if("ep", ranks).value_or(1);
  read.micro_batch = parallel.real("micro_batch", {1e-9, 1e9});
  read.micro_batches = parallel.count_if("micro_batches", ranks).value_or(1);
  read.chunks = parallel.count_if("virtual_pipeline", {1, 10'000}).value_or(1);
  read.schedule = schedule_of(parallel, read.chunks);
  read.sequence_parallel = parallel.flag_if("sequence_parallel").value_or(false);
  read.zero = parallel.count_if("zero_stage", {0, 3}).value_or(0);
  if (parallel.has("recompute")) read.recompute = word(parallel, "recompute", recomputes);
  read.stage_layers = parallel.reals_if("stage_layers", stage_layers);
}

Precision precision_of(const JsonFields& line) {
  const std::string text = line.text("precision");
  try {
    return parallel_time::parse_precision(text);
  } catch (const ConfigError&) {
    line.refuse("precision", "where a name with fp32, tf32, fp16, bf16, fp8 or fp4 is needed");
  }
}

MemoryCase read_case(const JsonFields& line) {
  line.expect_spelling({"id", "set", "network", "precision", "cluster", "run", "counter", "scope"});
  cases::expect_own_set(line);
  const JsonFields network = line.object("network");
  const JsonFields run = line.object("run");
  MemoryCase read;
  read.id = line.text("id");
  read.set = line.text("set");
  read.network = network.text("name");
  read.shape = read_shape(network);
  read.framework = run.text("framework");
  read_parallel(run.object("parallel"), read.setup);
  read.setup.bytes = read_bytes(run.object("bytes_per_parameter"));
  const Precision precision = precision_of(line);
  const bool is_wide = precision == Precision::f32 || precision == Precision::tf32;
  read.setup.element = is_wide ? 4 : 2;
  read.setup.operand = parallel_time::few_bit_bytes(precision);
  read.setup.fused_attention = word(run, "attention", attentions);
  // "selective" of torchtitan names its list of operators.
  const bool by_operator = read.framework.find("torchtitan") != std::string::npos;
  if (by_operator && read.setup.recompute == Recompute::selective) {
    read.setup.recompute = Recompute::operators;
  }
  read.device_bytes = line.object("cluster").real("memory_bytes", cases::byte_counts);
  read.counter = word(line, "counter", counters);
  read.first_rank = word(line, "scope", scopes);
  return read;
}

MemoryOutcome read_memory_outcome(const JsonFields& line) {
  const auto measured = line.object_if("measured");
  if (!measured) return {};
  return {.out_of_memory = measured->flag_if("out_of_memory").value_or(false),
          .peak_bytes = measured->real_if("peak_memory_bytes", cases::byte_counts),
          .state_bytes = measured->real_if("state_memory_bytes", cases::byte_counts)};
}

}  // namespace

bool holds_memory_cases(const std::filesystem::path& path) {
  std::error_code unreadable;
  // A pipe would wait for a writer.
  if (!std::filesystem::is_regular_file(path, unreadable)) return false;
  std::array<char, 64> opening{};
  std::ifstream(path).read(opening.data(), opening.size());
  return std::string_view(opening.data(), opening.size())
             .find(fmt::format("\"{}\"", memory_schema)) != std::string_view::npos;
}

MemoryCaseFile read_memory_cases(const std::filesystem::path& path) {
  MemoryCaseFile file;
  std::map<std::string, std::string> first;
  cases::for_each_line(path, FileKind::cases, "cases", [&](const JsonFields& line) {
    line.expect_spelling({"schema", "id"});
    if (line.text("schema") != memory_schema) {
      line.refuse("schema", fmt::format("and the lines before are {}", memory_schema));
    }
    file.cases.push_back(read_case(line));
    file.outcomes.push_back(read_memory_outcome(line));
    const auto [place, is_new] = first.emplace(file.cases.back().id, line.where("id"));
    if (!is_new) line.refuse("id", fmt::format("as in {}", place->second));
  });
  return file;
}

}  // namespace dlscale::model::memory
