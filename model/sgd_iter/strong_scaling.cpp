#include "model/sgd_iter/strong_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"

namespace dlscale::model {
namespace {

class Scaling {
 public:
  Scaling(const Network& network, const Machine& machine, const Run& run, std::int64_t global_batch,
          const RankSpread& spread)
      : network_(&network),
        machine_(&machine),
        run_(run),
        global_batch_(global_batch),
        spread_(&spread) {}

  /// Throws ConfigError where the batch cannot be divided.
  [[nodiscard]] Prediction on(int ranks) const {
    if (global_batch_ % ranks != 0) {
      throw ConfigError(fmt::format("{} images cannot be shared equally", global_batch_));
    }
    const std::int64_t share = global_batch_ / ranks;
    if (share > most_images_per_rank) {
      throw ConfigError(fmt::format(
          "of {} images each has {} (a rank takes {} at most). Take more ranks, or fewer "
          "images.",
          global_batch_, share, most_images_per_rank));
    }
    Run run = run_;
    run.batch = static_cast<int>(share);
    run.ranks = ranks;
    const std::string why =
        share_obstacle(as_run(*network_, run), machine_->cluster, run, global_batch_);
    if (!why.empty()) throw ConfigError(why);
    const int one[] = {ranks};
    return predict(*network_, *machine_, run, one, *spread_).front();
  }

  /// One rank with all images, or the reason why there is none.
  [[nodiscard]] std::optional<Prediction> alone(std::string& why) const {
    try {
      return on(1);
    } catch (const ConfigError& error) {
      why = error.what();
      return std::nullopt;
    }
  }

  /// Sets the speed-ups over `base`, which counts as its number of ranks.
  void compare(const Prediction& base, std::span<Prediction> rows) const {
    const UncertainIteration base_iteration = iteration_of(base);
    for (Prediction& row : rows) {
      const double speedup = row.images_per_s / (base.images_per_s / base.run.ranks);
      set_speedup(speedup, relative_speedup(iteration_of(row), base_iteration), row);
    }
  }

 private:
  [[nodiscard]] UncertainIteration iteration_of(const Prediction& row) const {
    UncertainIteration iteration = uncertain_iteration(*network_, *machine_, row.run);
    iteration.add(row.time.total - iteration.value());
    return iteration;
  }

  const Network* network_;
  const Machine* machine_;
  Run run_;
  std::int64_t global_batch_;
  const RankSpread* spread_;
};

}  // namespace

StrongScaling predict_strong(const Network& network, const Machine& machine, const Run& run,
                             std::span<const int> ranks, std::int64_t global_batch,
                             const RankSpread& spread, const Wording& wording) {
  EXPECT(global_batch >= 1);
  const Scaling scaling(network, machine, run, global_batch, spread);
  StrongScaling result;
  for (const int count : ranks) {
    try {
      result.rows.push_back(scaling.on(count));
    } catch (const ConfigError& error) {
      result.left_out.push_back(fmt::format("ranks {}: {}", count, wording(error)));
    }
  }
  if (result.rows.empty()) return result;
  std::string why;
  std::optional<Prediction> base = scaling.alone(why);
  result.speedup_over = fmt::format("1 rank with all {} images", global_batch);
  if (!base) {
    base = *std::ranges::min_element(result.rows, {},
                                     [](const Prediction& row) { return row.run.ranks; });
    result.speedup_over =
        fmt::format("{} ranks, counted as {}, for one rank cannot train with all {} images ({})",
                    base->run.ranks, base->run.ranks, global_batch, why);
  }
  scaling.compare(*base, result.rows);
  return result;
}

}  // namespace dlscale::model
