#include "bench/memory/room.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/quantity_text.hpp"

namespace dlscale::bench {
namespace {

/// Of the node, in bytes.
double memory() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator) {
  const double all = bytes * communicator.node_size();
  if (all <= memory() / 2) return;
  throw ConfigError(fmt::format(
      "{}, for which the {} rank(s) of this node need {}: more than half of its {} of memory. Give "
      "smaller ones.",
      what, communicator.node_size(), to_text(Bytes(all)), to_text(Bytes(memory()))));
}

std::size_t memory_share(const backend::Communicator& communicator) {
  return static_cast<std::size_t>(memory() / 8 / communicator.node_size());
}

}  // namespace dlscale::bench
