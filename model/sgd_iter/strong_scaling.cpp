#include "model/sgd_iter/strong_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/predicted_iteration.hpp"
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
  [[nodiscard]] PredictedIteration on(int ranks) const {
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
        share_obstacle(as_run(*network_, run), machine_->cluster, run, global_batch_,
                       memory_traits(*network_, run.dtype, machine_->software));
    if (!why.empty()) throw ConfigError(why);
    return predict_iteration(*network_, *machine_, run, *spread_);
  }

  /// One rank with all images, or the reason why there is none.
  [[nodiscard]] std::optional<PredictedIteration> alone(std::string& why) const {
    try {
      return on(1);
    } catch (const ConfigError& error) {
      why = error.what();
      return std::nullopt;
    }
  }

  /// Sets the speed-up over `base`, which counts as its number of ranks.
  static void compare(const PredictedIteration& base, PredictedIteration& row) {
    const double of_one = base.prediction.images_per_s / base.prediction.run.ranks;
    set_speedup(row.prediction.images_per_s / of_one,
                relative_speedup(row.iteration, base.iteration), row.prediction);
  }

 private:
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
  std::vector<PredictedIteration> rows;
  for (const int count : ranks) {
    try {
      rows.push_back(scaling.on(count));
    } catch (const ConfigError& error) {
      result.left_out.push_back(fmt::format("ranks {}: {}", count, wording(error)));
    }
  }
  if (rows.empty()) return result;
  std::string why;
  std::optional<PredictedIteration> base = scaling.alone(why);
  result.speedup_over = fmt::format("1 rank with all {} images", global_batch);
  if (!base) {
    base = *std::ranges::min_element(
        rows, {}, [](const PredictedIteration& row) { return row.prediction.run.ranks; });
    const int fewest = base->prediction.run.ranks;
    result.speedup_over =
        fmt::format("{} ranks, counted as {}, for one rank cannot train with all {} images ({})",
                    fewest, fewest, global_batch, why);
  }
  for (PredictedIteration& row : rows) {
    Scaling::compare(*base, row);
    result.rows.push_back(std::move(row.prediction));
  }
  return result;
}

}  // namespace dlscale::model
