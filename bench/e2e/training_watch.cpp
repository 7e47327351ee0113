#include "bench/e2e/training_watch.hpp"

#include <utility>

namespace dlscale::bench {

TrainingWatch::TrainingWatch(std::optional<DeviceWitness> witness, std::chrono::milliseconds period)
    : witness_(std::move(witness)) {
  if (witness_ && witness_->monitor) watch_.emplace(*witness_->monitor, period);
}

void TrainingWatch::warmed_up() {
  if (watch_) watch_->start_anew();
}

void TrainingWatch::stop() {
  if (watch_) states_ = watch_->stop();
}

void TrainingWatch::add_to(Measurement& measurement, backend::Communicator& communicator) const {
  const auto iterations = measurement.series.find("t_iter");
  if (!witness_ || iterations == measurement.series.end()) return;  // likewise on all ranks
  const std::size_t runs = iterations->second.samples.front().size();
  add_witnessed(measurement, *witness_, states_, runs, communicator);
}

}  // namespace dlscale::bench
