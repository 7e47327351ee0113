#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/fits/fit.hpp"
#include "model/fits/piecewise.hpp"
#include "model/roofline/fit/split.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// A measured message: the time of its slowest rank, pooled over repeats.
struct MessageSample {
  Placement layout;  ///< ≥ 2 ranks; ranks_per_node: ranks on the first node
  Bytes bytes;
  Estimate<Seconds> time;
  /// Fitted or judged half, where the results say so (axis "part"); absent: by size
  /// (model/roofline/fit/split.hpp).
  std::optional<Half> half = {};
};

/// Facts about where messages were measured that their rows lack.
struct MessageOrigin {
  std::string measured_on = {};  ///< processor, host and cluster, in words
  /// Cores that all hosts share (cores_of_hosts()); 0: each has its own.
  int cores = 0;
  bool by_defaults = false;  ///< chooses_by_defaults() of all results
};

/// Messages that differ only in size and number of ranks: the input of one fit.
struct MessageFamily {
  std::string collective;             ///< "all_reduce", …, or "sendrecv": half a ping-pong
  std::string algorithm = "library";  ///< or the schedule that was executed
  int segments = 1;                   ///< segments of a message in that schedule
  std::string library;
  std::string waiting;
  std::map<std::string, std::string> axes;  ///< other common axes: dtype, op, mode, cache, …
  std::string measured_on;                  ///< MessageOrigin
  int cores = 0;                            ///< likewise
  bool by_defaults = false;                 ///< likewise
  std::vector<MessageSample> samples;       ///< by ranks, ranks on a node, then bytes; each once
  std::string source;
  /// "all_reduce by ring, spin, dtype f64": omits values that are as in training.
  [[nodiscard]] std::string name() const;
};

/// Whether the library chose algorithms by its defaults: the environment was captured by this
/// program and has no variable that affects Open MPI's choice (OMPI_MCA_coll…).
bool chooses_by_defaults(const Environment& environment);

/// Whether messages of that name have a size and a kind that closed forms cover.
bool is_modelled(std::string_view name);

/// The families of the timed rows of "comm" with ≥ 2 ranks. Rows of other kinds and of replays are
/// skipped. Throws ConfigError that names file and key for an unreadable row or an unknown
/// collective.
std::vector<MessageFamily> message_families(const Group& rows, const MessageOrigin& origin);

/// The families of whole result files. Different processors, hosts or links (DLSCALE_CLUSTER in
/// their environment) make different families.
std::vector<MessageFamily> message_families(std::span<const ResultFile> results);

}  // namespace dlscale::model
