#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/train/engine/fixtures.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// Those after whose iterations gradients and parameters are complete.
inline constexpr std::array schedules{Schedule::sequential, Schedule::wait_free,
                                      Schedule::bucketed,   Schedule::merged_greedy,
                                      Schedule::merged,     Schedule::horovod};
using Gradients = std::vector<std::vector<float>>;

/// What one rank of a training run is made of.
class Worker {
 public:
  Worker(const Network& network, backend::Communicator& communicator, int batch,
         const TrainOptions& options, std::uint64_t seed = 4,
         std::unique_ptr<backend::ComputeDevice> device = open_backend("reference"))
      : device_(std::move(device)),
        program(network, *device_, batch, DType::f32),
        data(network, batch, communicator.rank(), communicator.size()) {
    program.initialise(seed);
    trainer.emplace(
        program, communicator, [this]() -> const Batch& { return data.next(); }, options);
  }
  Gradients mean_gradients() {
    trainer->settle();
    Gradients gradients;
    for (const Layer& layer : program.network().layers()) {
      if (layer.parameter_count() > 0) gradients.push_back(trainer->mean_gradient(layer.id));
    }
    return gradients;
  }

 private:
  std::unique_ptr<backend::ComputeDevice> device_;

 public:
  Program program;
  MadeData data;
  std::optional<Trainer> trainer;
};

inline TrainOptions with(Schedule schedule) {
  TrainOptions options;
  options.schedule = schedule;
  return options;
}

}  // namespace dlscale::train
