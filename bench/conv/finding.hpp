#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/results/measurement.hpp"
#include "core/run/run.hpp"

namespace dlscale::bench {

/// Whether an answer is compared with the reference before it is timed.
enum class Check { reference, none };
/// "yes" or "no". Throws ConfigError.
Check parse_check(const std::string& text);

/// What is found about a cell before it is measured.
struct Finding {
  std::string unsupported = {};           ///< why, else empty
  double error = 0;                       ///< against the reference, relative, the largest
  std::string worst = {};                 ///< what it belongs to
  std::optional<double> mean_error = {};  ///< on average, where all was compared
};

/// Throws Unsupported if `operands`, tensors and what is known of the workspace, in the memory of
/// the device, or those of all ranks of a node that lie on the host and `copies` beside them, take
/// more than is free: a process that takes more than there is may be ended by the system, with the
/// results so far.
void expect_memory(const backend::ComputeDevice& device, Bytes operands, Bytes copies,
                   int ranks_on_node);

/// The same for `needed` bytes of the host by each rank; `what` takes them: "its buffers".
void expect_host_memory(std::string_view what, Bytes needed, int ranks_on_node);

/// What `find` says on all ranks: the largest errors, and unsupported if it is so on one of them.
/// All ranks must go the same way: whoever measures alone waits for the others for ever.
/// Collective; throws on every rank what `find` throws on one.
Finding find_on_all(backend::Communicator& communicator, const std::function<Finding()>& find);

/// A measurement with status unsupported or wrong and the reason; nothing if it may be timed.
std::optional<Measurement> rejected(const Finding& finding, DType dtype);

/// Adds the errors to what was measured, or the warning that nothing was compared.
void add_check(const Finding& finding, Check check, Measurement& measurement);

}  // namespace dlscale::bench
