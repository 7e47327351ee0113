#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::model {

/// The roofline of a device: the limits of its arithmetic and its memory.
struct Roofline {
  FlopsPerSecond peak;
  BytesPerSecond bandwidth;

  /// P = min(π, β · OI)   [Williams et al. 2009]. OI: operations per byte moved.
  [[nodiscard]] FlopsPerSecond attainable(FlopsPerByte intensity) const {
    return std::min(peak, bandwidth * intensity);
  }
  /// t = max(F/π, Q/β). It is a lower bound without caches and launches.
  [[nodiscard]] Seconds time(const Work& work) const {
    return std::max(work.flops / peak, work.bytes / bandwidth);
  }
};

/// A level of the memory: data that fits into `capacity` moves at `bandwidth`.
struct MemoryLevel {
  std::string name;  ///< "L1", "L2", "memory"
  Bytes capacity;    ///< last level: the memory of the machine
  BytesPerSecond bandwidth;
};

/// A ceiling of arithmetic below the peak: the highest rate of code that lacks a feature
/// [S. Williams, A. Waterman, D. Patterson 2009, section 4].
struct ArithmeticCeiling {
  std::string name;  ///< "avx2": code without wider vectors
  FlopsPerSecond rate;
};

/// The rooflines of a device with several levels of memory, nearest first. Capacities grow and
/// bandwidths do not. All times are lower bounds.
class HierarchicalRoofline {
 public:
  /// Throws ConfigError if `levels` is empty or not in that order, a rate is 0, or a ceiling of
  /// arithmetic is above the peak.
  HierarchicalRoofline(FlopsPerSecond peak, std::vector<MemoryLevel> levels, Seconds launch = {},
                       std::vector<ArithmeticCeiling> ceilings = {});

  [[nodiscard]] FlopsPerSecond peak() const { return peak_; }
  [[nodiscard]] const std::vector<MemoryLevel>& levels() const { return levels_; }
  /// Ceilings below the peak, the highest first.
  [[nodiscard]] const std::vector<ArithmeticCeiling>& ceilings() const { return ceilings_; }

  /// t ≥ max( F/π, Q_1/β_1, Q_2/β_2, … ), where Q_l is the bytes that cross level l   [T. Koskela
  /// et al. 2018]. `traffic` has one value a level, in order.
  [[nodiscard]] Seconds time(Flops flops, std::span<const Bytes> traffic) const;

  /// P = min(π, β_l · OI), where OI counts the bytes that the core requests, wherever they lie
  /// [A. Ilic, F. Pratas, L. Sousa 2014]. `level` is an index into levels().
  [[nodiscard]] FlopsPerSecond attainable(std::size_t level, FlopsPerByte intensity) const;

  /// The farthest level from which data may come at that speed, by the cache-aware roofs. It is the
  /// nearest level if none allows the speed, for example where other code measured the peak.
  [[nodiscard]] std::size_t farthest_source(FlopsPerSecond executed, FlopsPerByte intensity) const;

  /// The nearest level that holds the working set, or the last if none does.
  [[nodiscard]] std::size_t level_of(Bytes working_set) const;

  /// t = max( F/π, Q/β ) + t_launch, with the β of the working set; kernels one after the other
  /// take the sum   [Y. Wang et al., Time-Based Roofline, arXiv:2009.04598]. The speed
  /// of small kernels is then V / (a + V/b) with a = t_launch and b = π. Wrong where
  /// kernels overlap.
  [[nodiscard]] Seconds time_based(const Work& work, Bytes working_set) const;

  /// F_min = π t_launch. A kernel with fewer operations, or with fewer bytes than Q_min = β
  /// t_launch, spends most of its time on its launch.
  [[nodiscard]] Flops least_flops() const { return peak_ * launch_; }

 private:
  FlopsPerSecond peak_;
  std::vector<MemoryLevel> levels_;
  Seconds launch_;
  std::vector<ArithmeticCeiling> ceilings_;
};

}  // namespace dlscale::model
