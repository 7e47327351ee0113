#include "bench/comm/traffic/message_layout.hpp"

#include <algorithm>

#include "bench/comm/traffic/rotating_buffers.hpp"

namespace dlscale::bench {

MessageLayout::MessageLayout(backend::Collective collective, const Message& message,
                             const backend::Communicator& ranks)
    : collective_(collective),
      message_(message),
      rank_(ranks.rank()),
      ranks_(static_cast<std::size_t>(ranks.size())),
      sides_(backend::sides(collective, message.bytes, ranks.size())) {}

std::size_t MessageLayout::size() const {
  return is_one_block() ? std::max(sides_.from, sides_.to) : whole_lines(sides_.from) + sides_.to;
}

std::span<std::byte> MessageLayout::given(std::span<std::byte> memory) const {
  if (collective_ == backend::Collective::broadcast) return memory.first(sides_.to);
  const bool inside = is_one_block() && collective_ == backend::Collective::all_gather;
  return memory.subspan(inside ? own_block() : 0, sides_.from);
}

std::span<std::byte> MessageLayout::taken(std::span<std::byte> memory) const {
  return memory.subspan(taken_at(), sides_.to);
}

std::span<const std::byte> MessageLayout::taken(std::span<const std::byte> memory) const {
  return memory.subspan(taken_at(), sides_.to);
}

backend::CollectiveCall MessageLayout::call(std::span<std::byte> memory,
                                            backend::DataPlace place) const {
  const bool broadcasts = collective_ == backend::Collective::broadcast;
  return {.collective = collective_,
          .type = message_.type,
          .op = message_.op,
          .root = message_.root,
          .from = broadcasts ? std::span<const std::byte>() : given(memory),
          .to = taken(memory),
          .place = place};
}

std::size_t MessageLayout::block() const {
  return message_.bytes / ranks_;
}

std::size_t MessageLayout::own_block() const {
  return block() * static_cast<std::size_t>(rank_);
}

bool MessageLayout::is_one_block() const {
  return message_.placement == Placement::in_place || collective_ == backend::Collective::broadcast;
}

std::size_t MessageLayout::taken_at() const {
  return is_one_block() ? 0 : whole_lines(sides_.from);
}

}  // namespace dlscale::bench
