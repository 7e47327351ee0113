#include "backend/comm/nccl/choice.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/collectives.hpp"
#include "backend/comm/nccl/communicator.hpp"
#include "backend/comm/nccl/enqueue.hpp"
#include "backend/comm/nccl/link.hpp"
#include "backend/comm/nccl/profile.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return text.data();
}

bool has_no_estimate(Collective collective) {
  return collective == Collective::all_to_all || collective == Collective::send ||
         collective == Collective::receive || collective == Collective::send_receive;
}

}  // namespace

std::string to_text(const Choice& choice) {
  std::string text;
  for (const std::string& word : {choice.algorithm, choice.protocol}) {
    if (!word.empty()) text += word + ", ";
  }
  return text + fmt::format("{} channel{}", choice.channels, choice.channels == 1 ? "" : "s");
}

std::optional<Choice> choice_in(Profile& profile, const Link& link, const Exchange& exchange) {
  if (link.end().size == 1 || exchange.count == 0) return std::nullopt;
  for (const nccl_profiler::Note& note : profile.read()) {
    if (text_of(note.communicator) != link.name()) continue;
    return Choice{text_of(note.algorithm), text_of(note.protocol), note.channels, note.warps};
  }
  throw Unsupported(fmt::format(
      "NCCL's choice of algorithm is not known: {} did not load dlscale's profiler plugin, whose "
      "interface came with NCCL 2.27. NCCL_DEBUG=INFO in the environment makes NCCL say why.",
      library_name()));
}

std::optional<Seconds> expected_time(Communicator& over, const LinkEnd& end,
                                     const Exchange& exchange) {
  if (end.size == 1 || has_no_estimate(exchange.collective) || exchange.count == 0) {
    return std::nullopt;
  }
  const LinkId id = agree_on_link(over);      // before what can fail on one rank
  const GpuMemory pretence(end.device, 256);  // an address for what is only simulated
  Link link(end, id);
  const float microseconds = simulate(link, exchange, pretence.data(), pretence.data());
  if (!std::isfinite(microseconds) || microseconds < 0) return std::nullopt;
  return Seconds(1e-6 * static_cast<double>(microseconds));
}

}  // namespace dlscale::backend::gpu_comm
