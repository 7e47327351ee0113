#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/results/measurement.hpp"
#include "model/fits/pool.hpp"

namespace dlscale::model {

/// Where messages lie: in the host's memory, or in a device's, from where they take another way and
/// which `bench comm` measures apart (core/results/usable_rows.hpp). A machine is of one of them.
enum class MessageMemory { host, device };
std::string_view to_string(MessageMemory memory);  ///< "host"
MessageMemory memory_of(const Measurement& measurement);

/// Where a machine of these results has its gradients: in memory of a device if `backend` is one
/// that the host gives work to (series "give" of its rows), else in the host's. Where nothing was
/// computed, as the messages have it. Throws ConfigError if those are of both.
MessageMemory message_memory(std::span<const ResultFile> results, const std::string& backend);

/// The rows of `bench comm` whose messages lie there; none where there are others only, of which
/// left_out() tells.
Group messages_in(MessageMemory memory, const Group& all);

}  // namespace dlscale::model
