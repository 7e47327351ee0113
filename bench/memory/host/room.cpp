#include "bench/memory/host/room.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/system/environment.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {

std::size_t beyond_caches(Bytes last_level_cache) {
  return static_cast<std::size_t>(4 * last_level_cache.si()) / 64 * 64;
}

void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator) {
  const Bytes all(bytes * communicator.node_size());
  const Bytes memory = physical_memory();
  if (all <= memory / 2) return;
  throw ConfigError(fmt::format(
      "{}, for which the {} rank(s) of this node need {}: more than half of its {} of memory. Give "
      "smaller ones.",
      what, communicator.node_size(), to_text(all), to_text(memory)));
}

std::size_t memory_share(const backend::Communicator& communicator) {
  return static_cast<std::size_t>(physical_memory().si() / 8 / communicator.node_size());
}

}  // namespace dlscale::bench
