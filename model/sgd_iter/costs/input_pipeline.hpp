#pragma once
#include <optional>

#include "core/base/units.hpp"

namespace dlscale::model {

/// How fast samples (images) come from storage to the devices of a node (MODEL 9). Arguments that
/// are not finite or out of their range are the caller's bug (EXPECT).

/// What one sample needs, in the mean.
struct SampleCost {
  Bytes stored = {};    ///< s_rec, its record in storage, > 0
  Seconds decode = {};  ///< c_dec ≥ 0, of one thread, with what follows decoding
};

/// What a node has for that.
struct InputNode {
  /// B_read > 0, of all its devices together: see shared_read(). Absent: not known, and no bound.
  std::optional<BytesPerSecond> read = {};
  int threads = 1;  ///< n_thr ≥ 1, likewise
};

enum class InputStage { read, decode };

/// The samples a second of a node, and the stage that bounds them.
struct InputRate {
  double samples_per_s;
  InputStage bound;
};

/// min{ B_read / s_rec, n_thr / c_dec } where reading goes on beside threads that decode; of equal
/// ones the first. (9.1), (9.3), (9.4) Infinite where neither is known. Wrong where cores or memory
/// bound what threads decode together.
InputRate input_rate(const SampleCost& sample, const InputNode& node);

/// (9.2) B_read(n) = min{ client, server / n } of each of n ≥ 1 nodes that read from one server; of
/// nodes that are not all full, in units of the fullest.
BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, double nodes);

/// AU = t_compute / (t_compute + stall), with t_compute > 0: 0.9 is what MLPerf Storage asks for.
double accelerator_utilisation(Seconds compute, Seconds stall);

/// What a device must be fed for: samples a second times the size of a record, both > 0.
BytesPerSecond required_read(double samples_per_s, Bytes stored);

}  // namespace dlscale::model
