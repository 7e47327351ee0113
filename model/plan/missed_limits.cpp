#include "model/plan/missed_limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "model/plan/training_plan.hpp"
#include "model/sgd_iter/time_to_train.hpp"

namespace dlscale::model {
namespace {

std::string times(double value, double limit) {
  return fmt::format("{:.3g} times", value / limit);
}

std::string how(const PlannedTraining& planned) {
  return fmt::format("{} {}, batch {}, {}", planned.ranks, planned.ranks == 1 ? "rank" : "ranks",
                     planned.batch, exchange_text(planned.exchange));
}

std::string time_interval(const PlannedTraining& planned) {
  if (!planned.interval) return "";
  return fmt::format("; 90 % interval {} to {}",
                     duration_text(planned.time_at(planned.interval->low)),
                     duration_text(planned.time_at(planned.interval->high)));
}

std::string cost_interval(const PlannedTraining& planned) {
  if (!planned.interval) return "";
  return fmt::format("; 90 % interval {:.4g} to {:.4g}", planned.cost_at(planned.interval->low),
                     planned.cost_at(planned.interval->high));
}

}  // namespace

std::string duration_text(Seconds time) {
  constexpr double minute = 60;
  constexpr double hour = 60 * minute;
  constexpr double day = 24 * hour;
  const double seconds = time.si();
  if (seconds < 2 * minute) return to_text(time);
  if (seconds < 2 * hour) return fmt::format("{:.4g} min", seconds / minute);
  if (seconds < 3 * day) return fmt::format("{:.4g} h", seconds / hour);
  return fmt::format("{:.4g} days", seconds / day);
}

void MissedLimits::take(std::optional<Nearest>& nearest, double value,
                        const PlannedTraining& planned) {
  if (nearest && value >= nearest->value) return;
  nearest = Nearest{value, planned};
}

void MissedLimits::look_at(const PlannedTraining& planned) {
  const PlanLimits& limits = question_->limits;
  const double batch = planned.global_batch();
  if (!smallest_batch_ || batch < *smallest_batch_) smallest_batch_ = batch;
  if (limits.global_batch && batch > *limits.global_batch) return;
  take(quickest_, planned.time.si(), planned);
  take(cheapest_, planned.cost, planned);
  if (!limits.budget || planned.cost <= *limits.budget) {
    take(affordable_, planned.time.si(), planned);
  }
}

PlannedTraining* MissedLimits::nearest() {
  if (!quickest_) return nullptr;
  const PlanLimits& limits = question_->limits;
  if (limits.time && quickest_->value > limits.time->si()) return &quickest_->planned;
  return affordable_ ? &affordable_->planned : &cheapest_.value().planned;
}

std::string MissedLimits::too_slow(const Nearest& nearest, bool within_budget) const {
  const Seconds limit = question_->limits.time.value();
  return fmt::format(
      "nothing fits: the quickest training {}takes {} ({}{}), {} the time limit of {}, for which "
      "it would have to train on {:.4g} images/s, not {:.4g}. Allow more time{}, more ranks or "
      "other batches and schedules.",
      within_budget ? "within the budget " : "", duration_text(Seconds(nearest.value)),
      how(nearest.planned), time_interval(nearest.planned), times(nearest.value, limit.si()),
      duration_text(limit),
      required_rate({.epochs = nearest.planned.epochs, .samples = question_->length.samples},
                    limit),
      nearest.planned.images_per_s, within_budget ? ", a larger budget" : "");
}

std::string MissedLimits::too_dear(const Nearest& nearest) const {
  const double limit = question_->limits.budget.value();
  return fmt::format(
      "nothing fits: the cheapest training costs {:.4g} ({}{}), {} the budget of {:.4g}. Allow "
      "more, or "
      "other ranks, batches and schedules.",
      nearest.value, how(nearest.planned), cost_interval(nearest.planned),
      times(nearest.value, limit), limit);
}

std::string MissedLimits::sentence(const std::vector<std::string>& left_out,
                                   const std::vector<std::string>& too_few) const {
  if (!smallest_batch_ && !too_few.empty()) {
    return fmt::format(
        "nothing fits: servers are ranks, or one on a node ({}). Name fewer servers, or more "
        "ranks.",
        fmt::join(too_few, "; "));
  }
  if (!smallest_batch_) {
    return fmt::format(
        "nothing fits: no batch leaves room in the memory of a rank ({}). Name smaller batches, or "
        "devices with more memory.",
        fmt::join(left_out, "; "));
  }
  if (!quickest_) {
    const double limit = question_->limits.global_batch.value();
    return fmt::format(
        "nothing fits: the smallest global batch asked for is {:.0f}, {} the largest allowed, "
        "{:.0f}. Name smaller batches or fewer ranks.",
        *smallest_batch_, times(*smallest_batch_, limit), limit);
  }
  const PlanLimits& limits = question_->limits;
  if (limits.time && quickest_->value > limits.time->si()) return too_slow(*quickest_, false);
  if (!affordable_) return too_dear(cheapest_.value());
  return too_slow(*affordable_, true);
}

}  // namespace dlscale::model
