#include "model/sgd_iter/messages/nccl_times.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/sgd_iter/messages/sheet_links.hpp"

namespace dlscale::model {

NcclTimes::NcclTimes(const Machine& machine, const Placement& placement,
                     collective::Collective collective)
    : stated_(machine.cluster.nccl.value(), placement, collective),
      slow_(sheet_links(machine).slow.nccl.value(), placement, collective) {}

Estimate<Seconds> NcclTimes::time(Bytes message, const std::string& name, Notes& notes) const {
  const NcclChoice choice = stated_.choose(message);
  notes.add(
      fmt::format("{} by NCCL's own cost model (3.9), not measured: {}", name, to_string(choice)),
      fmt::format("{:.0f} B", message.si()));
  const Seconds startup = stated_.choose(std::min(message, smallest_message)).time;
  return {choice.time, std::max(Seconds(), choice.time - startup),
          std::max(choice.time, slow_.choose(message).time)};
}

}  // namespace dlscale::model
