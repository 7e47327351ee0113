#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::suite {

/// An A/A control: the same short kernel is timed in pairs on this machine. A difference between
/// the two comes from the machine, so smaller differences between measurements cannot be trusted
/// here.

/// The two times of a pair, in the order in which they ran.
struct CanaryPair {
  Seconds first;
  Seconds second;
};

/// Number of pairs in one check. It is the smallest for which a rank-based 95 % interval is
/// narrower than the range (core/base/statistics.hpp), with one pair to spare on both sides.
inline constexpr std::size_t canary_pairs = 10;

/// The margin beyond which times differ, as a fraction.
inline constexpr double canary_margin = 0.01;

/// Times pairs of a kernel of about a millisecond on one thread of this process. Each time is the
/// minimum of a few runs.
std::vector<CanaryPair> run_canary();

/// The shift of the second kernel from the first.
struct CanaryShift {
  double shift = 0;  ///< the median of log(second / first)
  double low = 0;    ///< its 95 % interval
  double high = 0;
  bool alarm = false;  ///< the interval lies beyond the margin
};

/// Judges pairs from one check: whether the second time differs from the first. Requires at least
/// canary_pairs pairs with times above zero.
CanaryShift judge_pairs(std::span<const CanaryPair> pairs);

/// Judges pairs from two checks: whether the machine drifted between them.
CanaryShift judge_drift(std::span<const CanaryPair> before, std::span<const CanaryPair> after);

/// "the same kernel +0.1 % [-0.2 %, +0.3 %]".
std::string to_text(const CanaryShift& verdict);

/// The A/A control of one call on this machine, at its start and at its end. The record is
/// <out>/canary/<time>-<process>.json.
class CanaryRecord {
 public:
  /// Times the pairs at the start, and reports an alarm on standard error.
  CanaryRecord(std::filesystem::path out, bool quiet);
  /// Times the pairs at the end, writes the record, and reports a machine that differed during the
  /// call. Throws ConfigError if the record cannot be written.
  void finish() const;

 private:
  std::filesystem::path out_;
  bool quiet_;
  std::string started_;
  std::vector<CanaryPair> before_;
};

/// The records of all calls in a folder, one line each, in their order.
std::string canary_lines(const std::filesystem::path& out);

}  // namespace dlscale::suite
