#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "core/run/run.hpp"

namespace dlscale::bench {

/// Memory that processes can still allocate before the machine swaps or a control group kills one
/// of them: the smaller of MemAvailable in /proc/meminfo and the rest of a control group (version
/// 2). Empty where the system does not report it. `root` is the root of the file system.
std::optional<Bytes> free_memory(const std::filesystem::path& root = "/");

/// Whether a result is compared with the reference before it is timed.
enum class Check { reference, none };
/// Parses "yes" or "no". Throws ConfigError.
Check parse_check(const std::string& text);

/// Result of the checks before a cell is measured.
struct Finding {
  std::string unsupported = {};           ///< the reason; empty if supported
  double error = 0;                       ///< largest relative error against the reference
  std::string worst = {};                 ///< the tensor with that error
  std::optional<double> mean_error = {};  ///< mean error, if all elements were compared
};

/// Throws Unsupported if memory is short: for `operands` (tensors and known workspace) in device
/// memory, or, on the host, for the operands and `copies` of all ranks of a node. A process that
/// exceeds free memory may be killed, and its results so far with it.
void expect_memory(const backend::ComputeDevice& device, Bytes operands, Bytes copies,
                   int ranks_on_node);

/// The same for `needed` bytes of host memory per rank. `what` names their use: "its buffers".
void expect_host_memory(std::string_view what, Bytes needed, int ranks_on_node);

/// Combines the results of `find` on all ranks: the largest errors, and unsupported if one rank is.
/// All ranks must take the same path, as a rank that measures alone blocks for ever. Collective;
/// throws on every rank if `find` throws on one.
Finding find_on_all(backend::Communicator& communicator, const std::function<Finding()>& find);

/// A measurement with status unsupported or wrong and its reason; empty if the cell may be timed.
std::optional<Measurement> rejected(const Finding& finding, DType dtype);

/// Adds the errors to the measurement, or a warning that nothing was compared.
void add_check(const Finding& finding, Check check, Measurement& measurement);

}  // namespace dlscale::bench
