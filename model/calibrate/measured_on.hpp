#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/results/measurement.hpp"
#include "model/fits/fit.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The memory of messages: the host's or a device's. Messages of a device's memory take another
/// path, and `bench comm` measures them separately (core/results/usable_rows.hpp). A machine has
/// only one of them.
enum class MessageMemory { host, device };
std::string_view to_string(MessageMemory memory);  ///< "host"
MessageMemory memory_of(const Measurement& measurement);

/// The memory of the gradients of a machine of these results. It is a device's if the host launches
/// work on `backend` (series "give" of its rows), else the host's. Without compute results it is
/// the memory of the messages. Throws ConfigError if those are of both.
MessageMemory message_memory(std::span<const ResultFile> results, const std::string& backend);

/// The rows of `bench comm` whose messages lie in that memory. Empty if all lie in the other, which
/// left_out() reports.
Group messages_in(MessageMemory memory, const Group& all);

/// The hardware and software of the results. They are processor and host, the compute `backend`
/// (empty: none) and its libraries, the library of bench comm, and the links between hosts that it
/// crossed. Only files with results of the backend state its libraries. The library of bench comm
/// is that of messages that lie in `memory`. Throws ConfigError that names two files if they differ
/// in processor or host. It also throws if two files with results of the backend differ in the
/// version of a library, or two with messages between hosts differ in those links.
MeasuredOn measured_on(std::span<const ResultFile> results, const std::string& backend,
                       MessageMemory memory = MessageMemory::host);

}  // namespace dlscale::model
