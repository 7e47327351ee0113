#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "model/parallel/parts/stage_cut.hpp"
#include "model/parallel/stages/predict_stages.hpp"

namespace dlscale::model {

std::string_view StagedTraining::bound() const {
  const std::array<std::pair<Seconds, std::string_view>, 7> all{
      {{parts.computing, "computing"},
       {parts.unequal, "unequal stages"},
       {parts.bubble, "the bubble"},
       {parts.messages, "messages between stages"},
       {parts.strips, "messages of strips"},
       {parts.exchange, "the exchange of gradients"},
       {parts.input, "input"}}};
  return std::ranges::max_element(all, {}, &std::pair<Seconds, std::string_view>::first)->second;
}

Seconds StagedTraining::low() const {
  return errors ? errors->all().low * total : total;
}

Seconds StagedTraining::high() const {
  return errors ? errors->all().high * total : total;
}

double StagedTraining::speedup_low() const {
  return errors ? speedup / errors->beside_computing().high : speedup;
}

double StagedTraining::speedup_high() const {
  if (!errors) return speedup;
  const double ranks = speedup / efficiency;
  return std::min(speedup / errors->beside_computing().low, std::max(speedup, ranks));
}

std::size_t StagedTraining::fullest() const {
  const auto most = std::ranges::max_element(memory, {}, &PartMemory::total);
  return static_cast<std::size_t>(most - memory.begin());
}

memory::MemoryEstimate StagedTraining::need(std::size_t rank) const {
  return need_of(memory[rank], libraries);
}

memory::MemoryEstimate StagedTraining::need() const {
  memory::MemoryEstimate most;
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    const memory::MemoryEstimate own = need(rank);
    most = {std::max(most.bytes, own.bytes), std::max(most.low, own.low),
            std::max(most.high, own.high)};
  }
  return most;
}

bool StagedTraining::fits() const {
  return device_memory > Bytes() && need().bytes <= device_memory.si();
}

}  // namespace dlscale::model
