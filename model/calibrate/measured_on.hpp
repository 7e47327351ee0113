#pragma once
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "model/calibrate/message_memory.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// Where and with what the results were measured: their processor and host, the compute `backend`
/// (empty: none), its libraries by the files that hold results of it, and the library of bench
/// comm, and the links between hosts that it crossed. Throws ConfigError that names two files if
/// they differ in processor or host, or if two files with results of the backend differ in the
/// version of a library, or two with messages between hosts in those links. The library is that of
/// messages that lie in `memory`.
MeasuredOn measured_on(std::span<const ResultFile> results, const std::string& backend,
                       MessageMemory memory = MessageMemory::host);

}  // namespace dlscale::model
