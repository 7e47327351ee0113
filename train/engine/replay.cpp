#include "train/engine/replay.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.hpp"

namespace dlscale::train {

Replay::Replay(backend::ComputeDevice& device, std::size_t stretches)
    : device_(&device), stretches_(stretches) {}

void Replay::run(std::size_t stretch, const std::function<void()>& work) {
  Stretch& known = stretches_[stretch];
  if (!std::exchange(known.ran, true)) return work();
  if (!known.recording) {
    try {
      known.recording = device_->record(work);
    } catch (const Unsupported& error) {
      throw Unsupported(fmt::format("{} Train with --launch eager.", error.what()));
    }
  }
  known.recording->play();
}

}  // namespace dlscale::train
