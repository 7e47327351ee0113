#include "backend/comm/nccl/choice.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/enqueue.hpp"
#include "backend/comm/nccl/link.hpp"
#include "backend/comm/nccl/profile.hpp"
#include "backend/comm/nccl/preconditions.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return text.data();
}

struct FreeOnGpu {
  void operator()(std::byte* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
};

/// Memory whose address a simulated operation gets.
std::unique_ptr<std::byte[], FreeOnGpu> allocate(int device) {
  use_device(device);
  void* memory = nullptr;
  check(cudaMalloc(&memory, 256), "cudaMalloc", "an estimate of NCCL");
  return std::unique_ptr<std::byte[], FreeOnGpu>(static_cast<std::byte*>(memory));
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

Expectation expected_time(Communicator& over, const LinkEnd& end, const Exchange& exchange) {
  if (end.size == 1 || exchange.count == 0) return {};
  if (exchange.collective == Collective::all_to_all) return {};
  LinkId id{};
  std::unique_ptr<std::byte[], FreeOnGpu> memory;
  // Steps that may fail on one rank come before the link, in which the others would wait.
  std::string obstacle = obstacle_on_any(over, [&] {
    memory = allocate(end.device);
    if (over.rank() == 0) id = new_link_id(0);
  });
  if (!obstacle.empty()) return {.unknown = std::move(obstacle)};
  over.broadcast(id, 0);
  float microseconds = 0;
  obstacle = obstacle_on_any(over, [&] {
    Link link(end, id);
    microseconds = simulate(link, exchange, memory.get(), memory.get());
  });
  if (!obstacle.empty()) return {.unknown = std::move(obstacle)};
  if (!std::isfinite(microseconds) || microseconds < 0) return {};
  return {.time = Seconds(1e-6 * static_cast<double>(microseconds))};
}

}  // namespace dlscale::backend::gpu_comm
