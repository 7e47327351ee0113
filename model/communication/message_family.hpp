#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/communication/size_split.hpp"
#include "model/fits/piecewise.hpp"
#include "model/fits/pool.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// A measured message: the time of its slowest rank, pooled over repeats.
struct MessageSample {
  Placement layout;  ///< ≥ 2 ranks; ranks_per_node: as many as were on the first node
  Bytes bytes;
  Estimate<Seconds> time;
  /// On which side of a judgement it stands where its results say so (axis "part"); absent: by its
  /// size (size_split.hpp).
  std::optional<Half> half = {};
};

/// What messages were measured on, beyond what their rows say.
struct MessageOrigin {
  std::string measured_on = {};  ///< processor, host and cluster, in words
  int cores = 0;                 ///< that all hosts share (cores_of_hosts()); 0: each has its own
  bool by_defaults = false;      ///< chooses_by_defaults() of all results
};

/// Messages that differ in size and in the number of ranks alone: what one model is fitted to.
struct MessageFamily {
  std::string collective;             ///< "all_reduce", …, or "sendrecv": half a ping-pong
  std::string algorithm = "library";  ///< or the schedule that was carried out
  int segments = 1;                   ///< in which that sends a message, where it does
  std::string library;
  std::string waiting;
  std::map<std::string, std::string> axes;  ///< what else is alike: dtype, op, mode, cache, …
  std::string measured_on;                  ///< MessageOrigin
  int cores = 0;                            ///< likewise
  bool by_defaults = false;                 ///< likewise
  std::vector<MessageSample> samples;       ///< by ranks, ranks on a node, then bytes; each once
  std::string source;
  /// "all_reduce by ring, spin, dtype f64": without what is as in training.
  [[nodiscard]] std::string name() const;
};

/// Whether a library chose algorithms as it does by default: the environment was captured by this
/// program, and has no variable that bears on what Open MPI chooses (OMPI_MCA_coll…).
bool chooses_by_defaults(const Environment& environment);

/// Whether messages of that name have a size and are of a kind that closed forms tell of.
bool is_modelled(std::string_view name);

/// The families of rows of "comm" that have times, of ≥ 2 ranks. Rows of other kinds are passed
/// over, as are those of a replay. Throws ConfigError that names file and key for a row that cannot
/// be read, or is of a collective that nobody knows.
std::vector<MessageFamily> message_families(const Group& rows, const MessageOrigin& origin);

/// The same of whole result files; those of different processors, hosts or links
/// (DLSCALE_CLUSTER in their environment) are different families.
std::vector<MessageFamily> message_families(std::span<const ResultFile> results);

}  // namespace dlscale::model
