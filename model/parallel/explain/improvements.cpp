#include "model/parallel/explain/improvements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "core/base/error.hpp"
#include "core/parallel/partition.hpp"
#include "model/parallel/uncertain/measured_points.hpp"

namespace dlscale::model::parallel_time {
namespace {

using parallel::ParallelPlan;
using parallel::Recompute;

constexpr double least_gain = 0.01;

class Changes {
 public:
  Changes(const ParallelTimeFile& file, const ParallelQuestion& question,
          const ParallelHardware& hardware, const Setting& setting, const ParallelPlan& plan,
          const ParallelAnswer& now)
      : file_(&file),
        question_(question),
        hardware_(hardware),
        setting_(setting),
        plan_(plan),
        now_(&now) {
    // Changes of other sizes keep the micro-batch.
    plan_.micro_batch = static_cast<int>(now.sizes.micro_batch);
    plan_.micro_batches.reset();
  }

  std::vector<Improvement> find() {
    change_batch();
    change_pipeline();
    change_sizes();
    change_states();
    if (setting_.family->compiling == Compiling::on_request && plan_.compile != true) {
      try_plan("steps compiled", "compile=true", [](ParallelPlan& plan) { plan.compile = true; });
    }
    change_hardware();
    std::ranges::stable_sort(found_, std::ranges::greater(), &Improvement::gain);
    return std::move(found_);
  }

 private:
  using Change = std::function<void(ParallelPlan&)>;

  void try_plan(const std::string& change, const std::string& keys, const Change& apply) {
    ParallelPlan plan = plan_;
    apply(plan);
    if (runs(question_, hardware_, plan)) {
      consider(change, keys, question_, hardware_, setting_, plan);
    }
  }

  static bool runs(const ParallelQuestion& question, const ParallelHardware& hardware,
                   const ParallelPlan& plan) {
    const auto gpus = static_cast<std::int64_t>(hardware.links.gpus);
    return parallel::faults(plan, gpus, facts_of(question)).empty() && !fault_of_order(plan);
  }

  void consider(const std::string& change, const std::string& keys,
                const ParallelQuestion& question, const ParallelHardware& hardware,
                const Setting& setting, const ParallelPlan& plan) {
    if (!runs(question, hardware, plan)) return;
    Improvement one{change, keys, {}, static_cast<double>(question.global_batch), 0};
    one.answer = predict_plan(*file_, question, hardware, setting, plan);
    one.gain = one.global_batch / static_cast<double>(question_.global_batch) * now_->seconds() /
                   one.answer.seconds() -
               1;
    if (one.gain > least_gain && one.answer.verdict.fits) found_.push_back(std::move(one));
  }

  void change_batch() {
    ParallelQuestion question = question_;
    question.global_batch *= 2;
    consider("twice the global batch, more micro-batches", "", question, hardware_, setting_,
             plan_);
    const int samples = *plan_.micro_batch;
    const auto keys = [](int count) { return fmt::format("micro_batch={}", count); };
    try_plan("twice the micro-batch", keys(2 * samples),
             [&](ParallelPlan& plan) { plan.micro_batch = 2 * samples; });
    if (samples % 2 != 0) return;
    try_plan("half the micro-batch", keys(samples / 2),
             [&](ParallelPlan& plan) { plan.micro_batch = samples / 2; });
  }

  /// Embedding and head count as a part of the first and last layer.
  void change_stage_layers() {
    if (plan_.stages == 1 || plan_.chunks > 1) return;
    const IterationTime& time = now_->time;
    const auto count = static_cast<std::size_t>(question_.shape.layers);
    std::vector<parallel::StageLayer> layers(count, {Seconds(time.layer.layer.total())});
    layers.front().time += Seconds(time.embedding);
    layers.back().time += Seconds(time.head);
    const auto cut = parallel::cut_into_stages(layers, plan_.stages);
    if (!cut || *cut == plan_.stage_layers) return;
    try_plan("layers cut so that stages take alike",
             fmt::format("stage_layers={}", fmt::join(*cut, "/")),
             [&](ParallelPlan& plan) { plan.stage_layers = *cut; });
  }

  void change_pipeline() {
    change_stage_layers();
    if (plan_.stages == 1 || !plan_.stage_layers.empty()) return;
    const int chunks = 2 * plan_.chunks;
    if (plan_.schedule == "1f1b" || plan_.schedule == "interleaved") {
      try_plan("twice the chunks of a stage, interleaved",
               fmt::format("schedule=interleaved,chunks={}", chunks), [&](ParallelPlan& plan) {
                 plan.schedule = "interleaved";
                 plan.chunks = chunks;
               });
    }
    if (plan_.schedule == "zero_bubble" || plan_.chunks > 1) return;
    try_plan("gradients of weights in the bubbles", "schedule=zero_bubble",
             [](ParallelPlan& plan) { plan.schedule = "zero_bubble"; });
  }

  void change_sizes() {
    if (plan_.order != parallel::all_axes) {
      try_plan("tensor groups within nodes", "order=tensor/context/branches/data/stages",
               [](ParallelPlan& plan) { plan.order = parallel::all_axes; });
    }
    if (plan_.tensor > 1 && !plan_.sequence_parallel) {
      try_plan("sequence parallelism", "sequence_parallel=true",
               [](ParallelPlan& plan) { plan.sequence_parallel = true; });
    }
    ParallelPlan overlapped = plan_;
    overlapped.tensor_overlap = true;
    if (!overlaps_tensor(*setting_.family, plan_) &&
        overlaps_tensor(*setting_.family, overlapped)) {
      try_plan("messages of tensors under products", "tensor_overlap=true",
               [](ParallelPlan& plan) { plan.tensor_overlap = true; });
    }
    if (plan_.tensor % 2 == 0) {
      try_plan("half the tensor ranks, with twice the replicas",
               fmt::format("tensor={},data={}", plan_.tensor / 2, 2 * plan_.data),
               [](ParallelPlan& plan) {
                 plan.tensor /= 2;
                 plan.data *= 2;
                 plan.sequence_parallel = plan.sequence_parallel && plan.tensor > 1;
                 if (plan.tensor == 1) plan.tensor_overlap.reset();
               });
    }
    if (plan_.stages % 2 == 0 && plan_.stage_layers.empty() && plan_.stages > 2) {
      try_plan("half the stages, with twice the replicas",
               fmt::format("stages={},data={}", plan_.stages / 2, 2 * plan_.data),
               [](ParallelPlan& plan) {
                 plan.stages /= 2;
                 plan.data *= 2;
               });
    }
  }

  void change_states() {
    for (const int zero : {0, 1, 2, 3}) {
      if (zero == plan_.zero) continue;
      try_plan(zero == 0 ? "nothing sharded" : fmt::format("ZeRO {}", zero),
               fmt::format("zero={}", zero), [&](ParallelPlan& plan) {
                 plan.zero = zero;
                 if (zero == 0) plan.zero_group.reset();
               });
    }
    const auto less = [&](Recompute recompute, const char* change, const char* keys) {
      try_plan(change, keys, [&](ParallelPlan& plan) {
        plan.recompute = recompute;
        plan.recompute_layers = 0;
      });
    };
    if (plan_.recompute == Recompute::none) return;
    less(Recompute::none, "no recomputation", "recompute=none");
    if (plan_.recompute == Recompute::selective) return;
    less(Recompute::selective, "attention alone computed again", "recompute=selective");
  }

  void change_hardware() {
    const auto links = [&](const char* change, double Links::*bandwidth) {
      ParallelHardware hardware = hardware_;
      hardware.links.*bandwidth *= 2;
      consider(change, "", question_, hardware,
               with_constants(setting_, setting_.constants, hardware.links), plan_);
    };
    links("links within nodes twice as fast", &Links::inside);
    links("network twice as fast", &Links::network);
    TimeConstants constants = setting_.constants;
    constants.launch = 0;
    constants.host_collective = 0;
    consider("no time of the host for launches", "", question_, hardware_,
             with_constants(setting_, constants, hardware_.links), plan_);
  }

  const ParallelTimeFile* file_;
  ParallelQuestion question_;
  ParallelHardware hardware_;
  Setting setting_;
  ParallelPlan plan_;
  const ParallelAnswer* now_;
  std::vector<Improvement> found_;
};

}  // namespace

std::vector<Improvement> improvements(const ParallelTimeFile& file,
                                      const ParallelQuestion& question,
                                      const ParallelHardware& hardware, const Setting& setting,
                                      const parallel::ParallelPlan& plan,
                                      const ParallelAnswer& now) {
  return Changes(file, question, hardware, setting, plan, now).find();
}

}  // namespace dlscale::model::parallel_time
