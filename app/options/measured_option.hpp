#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// A measured iteration of a stated batch of all ranks.
struct MeasuredIteration {
  int ranks = 1;
  Seconds time;
};

/// --measured of predict and plan: iterations of the training asked for that were measured on the
/// cluster, "RANKS=RATE/s" (samples of all ranks) or "RANKS=TIME ms". The batch of a rank may
/// follow the number of ranks, as in "8x256=21000/s".
struct MeasuredOption {
  std::vector<std::string> points;
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !points.empty(); }
  /// The points. `samples` is what the network trains on, in a word ("images"). `usual_batch` gives
  /// the batch of a rank for points that state none, by their number of ranks; nothing where that
  /// is not known. Throws ConfigError for a point that cannot be read, counts other samples or
  /// lacks its batch, and for two of as many ranks.
  [[nodiscard]] std::vector<model::MeasuredPoint> read(
      std::string_view samples,
      const std::function<std::optional<int>(int ranks)>& usual_batch) const;
  /// The points as iterations of `count` ≥ 1 samples of all ranks. Where each has `tokens` > 0,
  /// they may be given in tokens a second, too: "64=1.2e6 tokens/s". Throws ConfigError for a point
  /// that cannot be read, counts other samples or states a batch, and for two of as many ranks.
  [[nodiscard]] std::vector<MeasuredIteration> iterations(std::string_view samples, double count,
                                                          double tokens) const;
  /// Their level for the machine and the run that were measured. Throws as measured_level() does,
  /// and ConfigError for a machine that was measured by benchmarks and for a point beyond the peak.
  [[nodiscard]] static model::MeasuredLevel level(const Network& network,
                                                  const model::Machine& machine, const Run& run,
                                                  const std::vector<model::MeasuredPoint>& points);
  /// Throws ConfigError for an iteration of `samples` by all ranks of a run that takes more than
  /// the peak of their devices.
  static void expect_below_peak(const Network& network, const model::Machine& machine,
                                const Run& run, double samples, Seconds measured);
  /// Throws ConfigError for an iteration that takes a thousand times as long as predicted.
  static void expect_likely(int ranks, Seconds measured, Seconds predicted);
  /// "your point at 1 GPU", "your points at 1 and 8 GPUs".
  [[nodiscard]] static std::string words(const model::MeasuredLevel& level);
};

/// A line of options: --measured with this value, unless it is empty, and --notes.
std::string options_that_say_more(const std::string& measurable);

}  // namespace dlscale::app
