#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/comm/local/group.hpp"
#include "backend/comm/messages.hpp"

namespace dlscale::backend {

/// Copies a message that arrived for `rank` to its destination. Throws LibraryError if the lengths
/// differ.
void deliver(std::span<const std::byte> message, const Incoming& expected, Rank rank);

/// Messages between the threads of a group. Data is copied when sent. Once a rank has left, waiting
/// for one of its messages with one of these tags throws LibraryError.
std::unique_ptr<PreparedExchange> prepare_local_exchange(std::shared_ptr<Group> group, Rank rank,
                                                         std::span<const Outgoing> out,
                                                         std::span<const Incoming> in);

}  // namespace dlscale::backend
