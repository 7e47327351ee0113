#include "app/predict/parallel/plan_remark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "report/parallel/parallel_rows.hpp"

namespace dlscale::app {
namespace {

/// Today's software on all GPUs ("megatron" is that of 2021 before Hopper), and PyTorch's.
constexpr const char* fused_framework = "megatron-core";
constexpr const char* plain_framework = "transformers";

/// Whether only data sheets say how the software computes and what it sends.
bool is_by_sheets(const model::Machine& machine, const Run& run) {
  const Device& device = machine.cluster.device;
  return !machine.fitted && !machine.level && machine.software.empty() &&
         device.kind == DeviceKind::gpu && !device.sheet.empty() &&
         (run.dtype == DType::bf16 || run.dtype == DType::f16) &&
         run.synchronisation == Synchronisation::all_reduce;
}

/// The same run as a plan of replicas alone, by a framework. Nothing where the model of plans does
/// not apply.
std::optional<model::parallel_time::ParallelAnswer> as_plan(const Network& network,
                                                            const Cluster& cluster, const Run& run,
                                                            const char* framework) {
  model::parallel_time::ParallelQuestion question;
  question.global_batch = std::int64_t{run.ranks} * run.batch;
  question.framework = framework;
  parallel::ParallelPlan plan;
  plan.data = run.ranks;
  plan.micro_batch = run.batch;
  try {
    question.shape = model::memory::transformer_shape(network);
    const auto hardware = model::parallel_time::parallel_hardware(cluster, run.ranks);
    const auto& file = model::parallel_time::parallel_times();
    return predict_plan(file, question, hardware, setting_of(file, question, hardware), plan);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

/// A run as plans by both kinds of software.
struct Plans {
  model::parallel_time::ParallelAnswer fused;
  model::parallel_time::ParallelAnswer plain;
};

std::optional<Plans> plans_of(const Network& network, const model::Machine& machine,
                              const Run& run) {
  if (!is_by_sheets(machine, run)) return std::nullopt;
  auto fused = as_plan(network, machine.cluster, run, fused_framework);
  auto plain = as_plan(network, machine.cluster, run, plain_framework);
  if (!fused || !plain) return std::nullopt;
  return Plans{std::move(*fused), std::move(*plain)};
}

}  // namespace

std::string plan_remark(const Network& network, const model::Machine& machine, const Run& run) {
  const auto plans = plans_of(network, machine, run);
  if (!plans) return {};
  const auto& [fused, plain] = *plans;
  return fmt::format(
      "The software is not named. By the model of parallel plans, which rests on {} trainings of "
      "large models, a step takes {} ms ({} … {}) with fused attention and kernels (--framework "
      "{}), {} ms with modules of PyTorch (--framework {}), at {}; the interval covers both. Ask "
      "it by --global-batch {} --parallel micro_batch={}.",
      model::parallel_time::parallel_times().trainings, milliseconds(Seconds(fused.seconds())),
      milliseconds(Seconds(fused.low())), milliseconds(Seconds(fused.high())), fused_framework,
      milliseconds(Seconds(plain.seconds())), plain_framework, counted(run.ranks, "GPU"),
      std::int64_t{run.ranks} * run.batch, run.batch);
}

void cover_plans(const Network& network, const model::Machine& machine,
                 std::span<model::Prediction> rows) {
  for (model::Prediction& row : rows) {
    const auto plans = row.low && row.high ? plans_of(network, machine, row.run) : std::nullopt;
    if (!plans) continue;
    row.low = std::min(*row.low, Seconds(std::min(plans->fused.low(), plans->plain.low())));
    row.high = std::max(*row.high, Seconds(std::max(plans->fused.high(), plans->plain.high())));
  }
}

std::string plan_memory_remark(const Network& network, const model::Machine& machine,
                               const Run& run) {
  if (!is_by_sheets(machine, run)) return {};
  const auto plan = as_plan(network, machine.cluster, run, fused_framework);
  if (!plan) return {};
  const auto need = model::parallel_time::fit_question(plan->memory, 1).need;
  return fmt::format(
      "The model of parallel plans is surer of decoders: with a batch of {}, a rank needs {} GB "
      "({} … {}) with fused attention (--framework {}). Ask it by --global-batch {} --parallel "
      "micro_batch={} --memory.",
      run.batch, report::in_gb(need.bytes), report::in_gb(need.low), report::in_gb(need.high),
      fused_framework, std::int64_t{run.ranks} * run.batch, run.batch);
}

std::string sharding_advice(const Network& network, const model::Machine& machine,
                            std::string_view why) {
  const Device& device = machine.cluster.device;
  const bool is_for_plans = device.kind == DeviceKind::gpu && !device.sheet.empty();
  if (!is_for_plans || why.find("so it cannot run") == std::string_view::npos) return {};
  if (!model::memory::is_decoder(network)) return {};
  return " Ranks may share it: --parallel zero=3,micro_batch=1,recompute=full.";
}

std::string framework_advice(const Network& network, const std::string& framework) {
  const auto* const family = model::parallel_time::parallel_times().family_of_words(framework);
  if (family == nullptr || !model::memory::is_decoder(network)) return {};
  return " Parallel plans know it: add --parallel, such as --parallel micro_batch=1.";
}

std::string add_plan_remark(const Network& network, const model::Machine& machine,
                            std::span<model::Prediction> rows) {
  std::string remark = plan_remark(network, machine, rows.back().run);
  if (!remark.empty()) rows.back().notes.push_back(model::remark(remark));
  return remark;
}

}  // namespace dlscale::app
