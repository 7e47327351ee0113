#pragma once
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "model/calibrate/message_memory.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The hardware and software of the results. They are processor and host, the compute `backend`
/// (empty: none) and its libraries, the library of bench comm, and the links between hosts that it
/// crossed. Only files with results of the backend state its libraries. The library of bench comm
/// is that of messages that lie in `memory`. Throws ConfigError that names two files if they differ
/// in processor or host. It also throws if two files with results of the backend differ in the
/// version of a library, or two with messages between hosts differ in those links.
MeasuredOn measured_on(std::span<const ResultFile> results, const std::string& backend,
                       MessageMemory memory = MessageMemory::host);

}  // namespace dlscale::model
