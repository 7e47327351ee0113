#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/comm/local/group.hpp"
#include "backend/comm/messages.hpp"

namespace dlscale::backend {

/// A message that came for `rank`, to where it is expected. Throws LibraryError if it is of another
/// length.
void deliver(std::span<const std::byte> message, const Incoming& expected, Rank rank);

/// Messages between the threads of a group. What is sent is copied at once. Once a rank has left,
/// who waits for one of its messages with a tag of these gets a LibraryError.
std::unique_ptr<PreparedExchange> prepare_local_exchange(std::shared_ptr<Group> group, Rank rank,
                                                         std::span<const Outgoing> out,
                                                         std::span<const Incoming> in);

}  // namespace dlscale::backend
