#pragma once
#include <optional>

#include "core/units.hpp"

namespace dlscale::model {

/// How fast samples (images) come from storage to the devices of a node (MODEL 9). Arguments that
/// are not finite or out of their range are the caller's bug (EXPECT).

/// What one sample needs, in the mean; times are of one thread.
struct SampleCost {
  Bytes stored = {};        ///< s_rec, its record in storage, > 0
  Seconds decode = {};      ///< c_dec ≥ 0
  Seconds preprocess = {};  ///< c_aug ≥ 0: crop, flip, normalise
  Bytes copied = {};        ///< to the device, ≥ 0
};

/// What a node has for that.
struct InputNode {
  int workers = 1;           ///< n_g ≥ 1, which share all but the copies
  BytesPerSecond read = {};  ///< B_read > 0, of all of them together: see shared_read()
  int threads = 1;           ///< n_thr ≥ 1, of all of them together
  BytesPerSecond copy = {};  ///< to each device, > 0
  /// r_sat > 0: the samples a second that threads decode together at most, where cores or memory
  /// bound them; it must be measured on the machine (9.4). Absent: each adds as much.
  std::optional<double> most_decoded = {};
};

/// What each stage takes for a batch for each worker of the node, if it waits for nothing.
struct InputTimes {
  Seconds read;
  Seconds decode;
  Seconds preprocess;
  Seconds copy;
};

/// (9.1), (9.4), (9.6) with b = `batch` ≥ 1 samples a worker:
///   read n_g b s_rec / B_read,   decode n_g b / min{ n_thr / c_dec, r_sat },
///   preprocess n_g b c_aug / n_thr,   copy b copied / copy, each device by itself
InputTimes input_times(const SampleCost& sample, const InputNode& node, int batch);

/// Which threads do what.
enum class InputThreads {
  of_a_stage,  ///< each stage has its own, and they work on different batches
  in_turn,     ///< each reads, decodes and preprocesses one sample after the other
};

/// (9.1) t_io, from one batch to the next, without the copy: the longest stage, or the sum where
/// threads do all in turn.
Seconds input_period(const InputTimes& times, InputThreads threads);

enum class InputStage { read, decode, preprocess, copy };

/// The samples a second of a node, and the stage that bounds them.
struct InputRate {
  double samples_per_s;
  InputStage bound;
};

/// min{ storage, decoding, preprocessing, copies } where each stage has threads of its own; of
/// equal ones the first. (9.1), (9.3)
InputRate input_rate(const SampleCost& sample, const InputNode& node);

/// (9.2) B_read(n) = min{ client, server / n } of each of n ≥ 1 nodes that read from one server.
BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, int nodes);

/// (9.2) what small reads at random places add for a batch: b t_seek / queue_depth, with as many
/// under way at once; all ≥ 1, the seek ≥ 0.
Seconds seek_time(int batch, Seconds seek, int queue_depth);

/// Reading where a node keeps a share of the data in memory, 0 ≤ kept ≤ 1, once it has read it: the
/// first epoch reads at `storage`, later ones at
///   1 / max{ (1 - kept) / storage, kept / memory }
/// [D, derived: both at once] Wrong for caches that drop what was used longest ago, where a set
/// that does not fit is read in the same order each epoch: they keep nothing of use.
BytesPerSecond cached_read(BytesPerSecond storage, BytesPerSecond memory, double kept);

/// Whole epochs ≥ 1 of `data` > 0 that are read so: 1 / storage for the first, then as above.
Seconds reading_time(Bytes data, int epochs, BytesPerSecond storage, BytesPerSecond memory,
                     double kept);

/// (9.3) What an iteration waits for input in the long run: max{ 0, t_io - t_compute }.
Seconds input_stall(Seconds io, Seconds compute);

/// AU = t_compute / (t_compute + stall), with t_compute > 0: 0.9 is what MLPerf Storage asks for.
double accelerator_utilisation(Seconds compute, Seconds stall);

/// (9.3) what one late batch, which takes `late` instead of t_io ≤ t_compute, holds training up, if
/// d ≥ 1 batches are read ahead: the thread begins it once the batch d before is taken, so
///   max{ 0, late - d t_compute }   [D, derived]
Seconds late_batch_stall(Seconds late, Seconds compute, int prefetch);

/// What a device must be fed for: samples a second times the size of a record, both > 0.
BytesPerSecond required_read(double samples_per_s, Bytes stored);

/// (9.5) A copy to a device from page-locked memory, t0 + V / bus, which runs beside computing; and
/// from pageable memory, which is staged first and does not: V / staging + V / bus.
Seconds pinned_copy(Bytes size, Seconds startup, BytesPerSecond bus);
Seconds pageable_copy(Bytes size, BytesPerSecond staging, BytesPerSecond bus);

}  // namespace dlscale::model
