#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "train/data/random.hpp"
#include "train/engine/program.hpp"
#include "train/engine/program_plan.hpp"
#include "train/trainer.hpp"

namespace dlscale::bench {
namespace {

/// Normally distributed images with cyclic labels, the same in every iteration.
class MadeBatch {
 public:
  MadeBatch(const Network& network, int batch)
      : images_(static_cast<std::size_t>(network.input().elements() * batch)) {
    for (std::size_t i = 0; i < images_.size(); ++i) {
      images_[i] = static_cast<float>(train::standard_normal(1, i));
    }
    for (int i = 0; i < batch; ++i) labels_.push_back(i % network.classes());
    batch_.images = images_;
    batch_.labels = labels_;
  }
  [[nodiscard]] const train::Batch& batch() const { return batch_; }

 private:
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  train::Batch batch_;
};

/// An SGD step with rate zero, which does all the work but keeps the weights, so that every
/// iteration computes the same.
backend::SgdStep standing_still() {
  return {.rate = 0};
}

/// One network on one rank, run with and without the engine on the same memory.
class Comparison {
 public:
  Comparison(const Network& network, const std::string& backend, int threads, int batch,
             DType dtype)
      : device_(open_device(backend, threads)),
        program_(network, *device_, batch, dtype),
        made_(network, batch),
        alone_(std::move(backend::local_group(1).front())) {
    program_.initialise(1);
    train::TrainOptions options;
    options.sgd = standing_still();
    trainer_.emplace(
        program_, *alone_, [this]() -> const train::Batch& { return made_.batch(); }, options);
  }

  [[nodiscard]] bool on_device() const { return device_->own_memory().has_value(); }

  /// Time of forward, backward and update in an iteration of the trainer.
  Seconds compute() {
    const train::IterationRecord record = trainer_->iterate();
    return record.forward + record.backward + record.update;
  }

  /// Total time of the same operations in the same order on the same memory, each called and timed
  /// without the engine. Time between operations is excluded.
  Seconds primitives() {
    program_.set_input(made_.batch().images, made_.batch().labels);
    Seconds sum;
    for (const Step step : program_.forward_steps()) sum += primitive(step);
    for (const Step step : program_.backward_steps()) sum += primitive(step);
    return sum + device_->time([&] { program_.update(standing_still()); }).device;
  }

 private:
  Seconds primitive(Step step) {
    if (step.pass == Pass::accumulate) return device_->time([&] { program_.run(step, 0); }).device;
    backend::Operation& operation = program_.operation(step.layer);
    const backend::Operands& operands = program_.operands(step);
    return device_->time([&] { operation.run(step.pass, operands); }).device;
  }

  std::unique_ptr<backend::ComputeDevice> device_;
  train::Program program_;
  MadeBatch made_;
  std::unique_ptr<backend::Communicator> alone_;
  std::optional<train::Trainer> trainer_;
};

/// The part of `all` for the `count` samples after the warm-up.
Series series_of_last(const char* unit, const std::vector<double>& all, std::size_t count) {
  return make_series(unit, {{all.end() - static_cast<std::ptrdiff_t>(count), all.end()}});
}

Measurement measure(const Sampler& sampler, Comparison& comparison) {
  std::vector<double> compute;
  std::vector<double> primitives;
  std::vector<double> ratio;
  Measurement measurement = sampler.sample([&] {
    compute.push_back(comparison.compute().si());
    primitives.push_back(comparison.primitives().si());
    ratio.push_back(compute.back() / primitives.back());
    return Seconds(compute.back());
  });
  const auto sampled = measurement.series.find("time");
  if (sampled == measurement.series.end()) return measurement;
  const std::size_t count = sampled->second.samples.front().size();
  measurement.series = {{"compute", series_of_last("s", compute, count)},
                        {"primitives", series_of_last("s", primitives, count)},
                        {"ratio", series_of_last("1", ratio, count)}};
  return measurement;
}

struct Choice {
  std::shared_ptr<const Network> network;
  std::string backend;
  int threads;
  int batch;
  DType dtype;
};

Cell make_overhead_cell(const Choice& choice) {
  return {{{"network", choice.network->name()},
           {"batch", std::to_string(choice.batch)},
           {"dtype", std::string(dtype_name(choice.dtype))},
           {"backend", choice.backend},
           {"threads", std::to_string(choice.threads)}},
          [choice](const Sampler& sampler) {
            Comparison comparison(*choice.network, choice.backend, choice.threads, choice.batch,
                                  choice.dtype);
            Measurement measurement = measure(sampler, comparison);
            if (!comparison.on_device()) {
              add_compute_warnings(measurement, choice.threads, sampler.communicator());
            }
            return measurement;
          }};
}

std::vector<Cell> make_overhead_cells(Context& context) {
  if (context.communicator->size() > 1) {
    throw ConfigError(fmt::format(
        "bench overhead was started on {} ranks (it compares what one rank does with and without "
        "the engine). Start it without a launcher.",
        context.communicator->size()));
  }
  std::vector<Cell> cells;
  for (const std::string& name : context.list("network")) {
    const auto network = std::make_shared<const Network>(load_network(name));
    train::check_trainable(*network);
    for (const int batch : context.integers("batch")) {
      cells.push_back(make_overhead_cell({.network = network,
                                          .backend = context.value("backend"),
                                          .threads = context.integer("threads"),
                                          .batch = batch,
                                          .dtype = parse_dtype(context.value("dtype"))}));
    }
  }
  return cells;
}

}  // namespace

extern const Benchmark overhead{
    .name = "overhead",
    .doc = "Compare the compute part of an iteration with the sum of its primitives' own times",
    .axes = {{"network", "networks to train", "resnet50"},
             {"batch", "images per iteration", "8"},
             {"dtype",
              "precision of the kernels: f32, tf32 or bf16, as far as the backend has them", "f32"},
             {"backend", "compute backend", "onednn"},
             {"threads", "compute threads", "1"}},
    .cells = make_overhead_cells};

}  // namespace dlscale::bench
