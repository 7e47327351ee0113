#pragma once
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model {

/// A training on one device by groups of its layers, timed by a data sheet.
class Modules {
 public:
  /// Modules by layer, from 0 up in the order of layers.
  Modules(const Network& network, std::vector<int> modules, const Device& device,
          const ComputeTraits& traits, int batch)
      : network_(network), modules_(std::move(modules)), batch_(batch) {
    dlscale::Run run;
    run.batch = batch;
    sheet::StepTimes times(network, device, run, traits, sheet::nominal_constants());
    forward_.resize(count());
    backward_.resize(count());
    for (const Step step : forward_steps(network)) {
      forward_[module_of(step.layer)] += times.time(step);
    }
    for (const Step step : backward_steps(network)) {
      backward_[module_of(step.layer)] += times.time(step);
    }
    update_ = sheet::update_time(sheet::update_work(network), device, run, traits,
                                 sheet::nominal_constants());
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(modules_.back()) + 1; }
  /// Without a pipeline.
  [[nodiscard]] Seconds iteration() const {
    return std::accumulate(forward_.begin(), forward_.end(), Seconds()) +
           std::accumulate(backward_.begin(), backward_.end(), Seconds()) + update_;
  }
  /// Modules [first, end) as a stage, computed again for backward.
  void add_stage(std::size_t first, std::size_t end, BytesPerSecond link,
                 PipelineCosts& costs) const {
    costs.forward.emplace_back();
    for (std::size_t module = first; module < end; ++module) {
      costs.forward.back() += forward_[module];
    }
    costs.backward.push_back(costs.forward.back());
    for (std::size_t module = first; module < end; ++module) {
      costs.backward.back() += backward_[module];
    }
    if (end < count()) costs.boundary.push_back(crossing(static_cast<int>(end)) / link);
  }

 private:
  [[nodiscard]] std::size_t module_of(LayerId layer) const {
    return static_cast<std::size_t>(modules_[layer.index()]);
  }
  /// Tensors that modules before `cut` make and others read, each once.
  [[nodiscard]] Bytes crossing(int cut) const {
    double elements = 0;
    for (const Layer& layer : network_.layers()) {
      if (modules_[layer.id.index()] >= cut) continue;
      for (const LayerId consumer : network_.consumers(layer.id)) {
        if (modules_[consumer.index()] < cut) continue;
        elements += static_cast<double>(layer.output.elements());
        break;
      }
    }
    return Bytes(4.0 * elements * batch_);
  }

  const Network& network_;
  std::vector<int> modules_;
  int batch_;
  std::vector<Seconds> forward_;  ///< by module
  std::vector<Seconds> backward_;
  Seconds update_;
};

}  // namespace dlscale::model
