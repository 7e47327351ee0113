#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/config/csv_table.hpp"
#include "core/network/network.hpp"
#include "model/memory/kept_activations.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/memory/state_memory.hpp"

/// Figures of papers and tools (tests/data/memory_published.csv) beside the formulas.
namespace dlscale::model::memory {
namespace {

constexpr std::array<CsvColumn, 7> columns = {
    {{"id"}, {"kind"}, {"value"}, {"unit"}, {"rule"}, {"arguments"}, {"source"}}};

using Arguments = std::map<std::string, std::string>;

Arguments arguments_of(const std::string& text) {
  Arguments all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const std::size_t equals = part.find('=');
    all[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return all;
}

double number(const Arguments& of, const std::string& key, double otherwise = 1) {
  const auto found = of.find(key);
  return found == of.end() ? otherwise : std::stod(found->second);
}

/// A network of arXiv:2205.05198, table 3, with its plan: tensor, stages, chunks, micro-batch.
struct GptPlan {
  int layers, hidden, heads, tensor, stages, chunks, micro_batch;
};
const std::map<std::string, GptPlan> gpt_plans = {{"22B", {48, 6144, 64, 8, 1, 1, 4}},
                                                  {"175B", {96, 12288, 96, 8, 8, 3, 1}},
                                                  {"530B", {105, 20480, 128, 8, 35, 3, 1}},
                                                  {"1T", {128, 25600, 160, 8, 64, 1, 1}}};

TransformerShape shape_of(const GptPlan& plan) {
  TransformerShape shape;
  shape.layers = plan.layers;
  shape.hidden = plan.hidden;
  shape.heads = shape.kv_heads = plan.heads;
  shape.head_width = plan.hidden / plan.heads;
  shape.ffn = 4 * plan.hidden;
  shape.vocabulary = 51200;
  shape.sequence = 2048;
  return shape;
}

MemorySetup setup_of(const GptPlan& plan, const std::string& mode) {
  MemorySetup setup;
  setup.tensor = plan.tensor;
  setup.stages = plan.stages;
  setup.chunks = plan.chunks;
  setup.schedule = plan.chunks > 1 ? "interleaved" : "1f1b";
  setup.micro_batch = plan.micro_batch;
  setup.micro_batches = 1000;
  setup.fused_attention = false;
  setup.dropout = true;
  setup.sequence_parallel = mode.starts_with("seq");
  if (mode == "full") setup.recompute = Recompute::full;
  if (mode.ends_with("sel")) setup.recompute = Recompute::selective;
  // Megatron: 18 bytes a parameter, with gradients accumulated in f32.
  setup.bytes = {
      .weights = 2, .gradients = 0, .main_gradients = 4, .main_weights = 4, .moments = 8};
  return setup;
}

double korthikanti(const Arguments& of) {
  const GptPlan& plan = gpt_plans.at(of.at("net"));
  const TransformerShape shape = shape_of(plan);
  const std::string mode = of.contains("mode") ? of.at("mode") : "none";
  const MemorySetup setup = setup_of(plan, mode);
  const double layers = static_cast<double>(plan.layers) / plan.stages;
  if (of.at("what") == "states") {
    StageParameters parameters = stage_parameters(shape, setup, 0, 0, layers);
    parameters.dense -= parameters.tables;
    return stage_states(parameters, setup).total();
  }
  const double kept = kept_activations(shape, setup, live_tensors(), 0);
  if (of.at("what") == "activations") return kept * live_layers(setup, 0, layers);
  return 100 * kept / kept_activations(shape, setup_of(plan, "none"), live_tensors(), 0);
}

double zero_states(const Arguments& of) {
  return state_memory(number(of, "psi"), number(of, "dp"), static_cast<int>(number(of, "stage")),
                      {})
      .total();
}

/// DeepSpeed's own estimators: 4 Ψ + 16 Ψ/N, and 4 bytes of the largest layer + 18 (2) Ψ/N.
double deepspeed2(const Arguments& of) {
  return state_memory(number(of, "psi"), number(of, "dp"), 1, {.moments = 12}).total();
}
double deepspeed3(const Arguments& of) {
  const StateBytes bytes = {
      .weights = number(of, "per", 18), .gradients = 0, .main_weights = 0, .moments = 0};
  return 4 * number(of, "largest") +
         state_memory(number(of, "psi"), number(of, "dp"), 3, bytes).total();
}

/// Megatron of 2023 kept the activated gate and a copy of attention's result.
double megatron(const Arguments& of) {
  Implementation way = live_tensors();
  way.gated_elements = 4;
  way.attention_copies = 1;
  MemorySetup setup;
  setup.data = static_cast<int>(number(of, "dp"));
  setup.tensor = static_cast<int>(number(of, "tp"));
  setup.stages = static_cast<int>(number(of, "pp"));
  setup.micro_batch = number(of, "mb");
  setup.micro_batches = static_cast<int>(number(of, "m"));
  setup.dropout = true;
  setup.zero = 1;
  setup.bytes = {
      .weights = 2, .gradients = 0, .main_gradients = 4, .main_weights = 4, .moments = 8};
  const TransformerShape shape = transformer_shape(load_network_for("llama2_7b", 2048));
  const RankMemory memory = rank_memory(shape, setup, way);
  return memory.worst(MemoryCounter::allocated).peak_bytes(MemoryCounter::allocated);
}

double unit_of(const std::string& unit) {
  if (unit == "GiB") return 1073741824;
  if (unit == "MiB") return 1048576;
  return unit == "GB" ? 1e9 : 1;
}

/// Half a unit of the last printed digit.
double rounding_of(const std::string& value) {
  const std::size_t point = value.find('.');
  const auto digits = point == std::string::npos ? 0 : value.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(digits));
}

struct Point {
  std::string id;
  std::string kind;
  double error;
  bool is_rounded;  ///< equal but for the printed digits
};

std::vector<Point> points_of(const std::string& rule, double (*formula)(const Arguments&)) {
  const CsvTable table(DLSCALE_SOURCE_DIR "/tests/data/memory_published.csv", "published memory",
                       columns);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.text(row, "rule") != rule) continue;
    const std::string printed = table.text(row, "value");
    const double value =
        formula(arguments_of(table.text(row, "arguments"))) / unit_of(table.text(row, "unit"));
    const double published = std::stod(printed);
    points.push_back({table.text(row, "id"), table.text(row, "kind"), value / published - 1,
                      std::abs(value - published) <= 1.0001 * rounding_of(printed)});
  }
  return points;
}

double mean_error(const std::vector<Point>& points) {
  double sum = 0;
  for (const Point& point : points)
    sum += std::abs(point.error) / static_cast<double>(points.size());
  return sum;
}

TEST(PublishedRules, ActivationsAndStatesOfKorthikanti) {
  const std::vector<Point> points = points_of("korthikanti", korthikanti);
  ASSERT_EQ(points.size(), 28U);
  for (const Point& point : points) EXPECT_LT(std::abs(point.error), 0.012) << point.id;
  EXPECT_LT(mean_error(points), 0.002);
}

TEST(PublishedRules, StatesOfZero) {
  const std::vector<Point> points = points_of("zero", zero_states);
  ASSERT_EQ(points.size(), 5U);
  for (const Point& point : points) EXPECT_TRUE(point.is_rounded) << point.id;
}

TEST(PublishedRules, EstimatorsOfDeepSpeed) {
  for (const auto& points :
       {points_of("deepspeed2", deepspeed2), points_of("deepspeed3", deepspeed3)}) {
    ASSERT_FALSE(points.empty());
    for (const Point& point : points) EXPECT_LT(std::abs(point.error), 0.01) << point.id;
  }
}

TEST(PublishedRules, MeasuredMegatronOnH800) {
  const std::vector<Point> points = points_of("megatron", megatron);
  ASSERT_EQ(points.size(), 4U);
  for (const Point& point : points) EXPECT_LT(std::abs(point.error), 0.02) << point.id;
  EXPECT_LT(mean_error(points), 0.0125);
}

}  // namespace
}  // namespace dlscale::model::memory
