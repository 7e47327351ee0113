#include "report/goodput/training_cost_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

using model::goodput::TrainingCost;
using model::goodput::Uncertain;
using CostField = Field<TrainingCost>;

constexpr double seconds_a_day = 86400;
constexpr double kwh_a_mwh = 1000;

/// Four digits or more, with commas between thousands: "3,768,702".
std::string scaled_text(double value, double unit) {
  std::string digits = significant(value / unit, 4);
  for (std::size_t at = std::min(digits.find('.'), digits.size()); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

/// Iterations end with a whole one.
double whole_iterations(const TrainingCost& row) {
  constexpr double rounding = 1e-12;
  return std::ceil(row.iterations * (1 - rounding));
}

/// "62.3" with its interval "55.1 to 71.0", of numbers in `unit`.
std::string range_text(const Uncertain& range, double unit) {
  if (range.low == range.high) return "–";
  return from_to(scaled_text(range.low, unit), scaled_text(range.high, unit));
}

/// Three fields for programs: the value and both ends of its interval.
template <class Get>
Fields<TrainingCost> with_interval(const std::string& name, const std::string& unit, Get get) {
  const auto end = [get](double Uncertain::*which) {
    return [get, which](const TrainingCost& row) -> std::optional<double> {
      const std::optional<Uncertain> range = get(row);
      return range ? std::optional((*range).*which) : std::nullopt;
    };
  };
  return {CostField(name + unit, Meaning::value, end(&Uncertain::value)),
          CostField(name + "_low" + unit, Meaning::value, end(&Uncertain::low)),
          CostField(name + "_high" + unit, Meaning::value, end(&Uncertain::high))};
}

template <class Member>
auto maybe(Member member) {
  return [member](const TrainingCost& row) -> std::optional<Uncertain> { return row.*member; };
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Fields<TrainingCost> numbers_of_time() {
  return joined<TrainingCost>(
      {{CostField("iterations", Meaning::value, whole_iterations)},
       with_interval("without_failures", "_s", maybe(&TrainingCost::plain_s)),
       with_interval("with_failures", "_s", maybe(&TrainingCost::time_s)),
       with_interval("device_hours_without_failures", "", maybe(&TrainingCost::plain_device_hours)),
       with_interval("device_hours", "", maybe(&TrainingCost::device_hours)),
       with_interval("price_without_failures", "", maybe(&TrainingCost::plain_price)),
       with_interval("price", "", maybe(&TrainingCost::price)),
       with_interval("energy_without_failures", "_kwh", maybe(&TrainingCost::plain_kwh)),
       with_interval("energy", "_kwh", maybe(&TrainingCost::kwh)),
       with_interval("goodput", "", maybe(&TrainingCost::goodput)),
       with_interval("failures", "", maybe(&TrainingCost::failures))});
}

Fields<TrainingCost> numbers_of_failures() {
  using model::goodput::TimeShares;
  Fields<TrainingCost> fields;
  for (std::size_t i = 0; i < model::goodput::component_count; ++i) {
    fields.push_back({fmt::format("failures_{}", model::goodput::component_names[i]),
                      Meaning::value, [i](const TrainingCost& row) { return row.failures_of[i]; }});
  }
  const auto share = [&fields](const char* name, double TimeShares::*part) {
    fields.push_back({name, Meaning::value, via(&TrainingCost::shares, part)});
  };
  share("share_checkpoints", &TimeShares::checkpoints);
  share("share_repeated", &TimeShares::repeated);
  share("share_restarts", &TimeShares::restarts);
  share("share_waiting", &TimeShares::waiting);
  const auto time = [&fields](const char* name, Seconds TrainingCost::*part) {
    fields.push_back({name, Meaning::value,
                      [part](const TrainingCost& row) { return finite((row.*part).si()); }});
  };
  time("mtbf_s", &TrainingCost::mtbf);
  time("checkpoint_every_s", &TrainingCost::checkpoint_every);
  time("checkpoint_stall_s", &TrainingCost::checkpoint_stall);
  time("checkpoint_write_s", &TrainingCost::checkpoint_write);
  time("restart_s", &TrainingCost::restart);
  fields.push_back({"checkpoint_is_best", Meaning::remark, &TrainingCost::checkpoint_is_best});
  fields.push_back({"spares_for_95_percent", Meaning::value, &TrainingCost::spares_for_95});
  return fields;
}

/// A column of an uncertain number in `unit`, and one of its interval, which narrow tables leave
/// out by `spare`.
template <class Get>
Fields<TrainingCost> columns_of(const std::string& heading, double unit, Get get, int spare = 0) {
  const auto value = [get, unit](const TrainingCost& row) {
    const std::optional<Uncertain> range = get(row);
    return range ? scaled_text(range->value, unit) : std::string("–");
  };
  const auto interval = [get, unit](const TrainingCost& row) {
    const std::optional<Uncertain> range = get(row);
    return range ? range_text(*range, unit) : std::string("–");
  };
  const bool is_time = heading == "days";
  const std::string name = is_time ? "90 % interval" : "90 % of " + heading;
  const Fields<TrainingCost> ends{CostField::table(name, interval)};
  return joined<TrainingCost>({{CostField::table(heading, value)}, spared(spare, ends)});
}

std::string checkpoint_text(const TrainingCost& row) {
  const double every = row.checkpoint_every.si();
  return std::isfinite(every) ? significant(every / 60, 3) : "–";
}

Fields<TrainingCost> columns(std::span<const TrainingCost> trainings) {
  const auto days = [](const TrainingCost& row) {
    return scaled_text(row.plain_s.value, seconds_a_day);
  };
  const auto useful = [](const TrainingCost& row) { return percent(row.goodput.value); };
  const auto failures = [](const TrainingCost& row) { return significant(row.failures.value, 3); };
  const bool on_gpus = trainings.empty() || trainings.front().question.has_gpus;
  const auto hours = [](const TrainingCost& row) { return scaled_text(row.device_hours.value, 1); };
  Fields<TrainingCost> fields = joined<TrainingCost>(
      {columns_of("days", seconds_a_day, maybe(&TrainingCost::time_s)),
       spared(4, Fields<TrainingCost>{CostField::table("without failures", days)}),
       spared(1, Fields<TrainingCost>{CostField::table("useful", useful)}),
       spared(2, Fields<TrainingCost>{CostField::table("failures", failures)}),
       spared(3, Fields<TrainingCost>{CostField::table("checkpoint min", checkpoint_text)}),
       {CostField::table(on_gpus ? "GPU-hours" : "rank-hours", hours)}});
  const auto has = [&](auto member) {
    return std::ranges::any_of(trainings,
                               [&](const TrainingCost& row) { return (row.*member).has_value(); });
  };
  if (has(&TrainingCost::kwh)) {
    fields =
        joined<TrainingCost>({fields, columns_of("MWh", kwh_a_mwh, maybe(&TrainingCost::kwh), 6)});
  }
  if (has(&TrainingCost::price)) {
    fields = joined<TrainingCost>({fields, columns_of("price", 1, maybe(&TrainingCost::price), 5)});
  }
  return fields;
}

std::string storage_note(const TrainingCost& cost) {
  const auto& question = cost.question;
  if (question.storage.read.si() <= 0) {
    return "the cluster states no storage, so that checkpoints take no time";
  }
  return fmt::format(
      "a checkpoint of {} stops training for {}{}, a restart takes {}", to_text(question.state),
      to_text(cost.checkpoint_stall),
      cost.checkpoint_write > Seconds()
          ? fmt::format(" and is written in the background for {}", to_text(cost.checkpoint_write))
          : "",
      to_text(cost.restart));
}

std::string spares_note(const TrainingCost& cost) {
  const std::optional<int>& spares = cost.question.spares;
  if (!spares) {
    return fmt::format(
        "other nodes stand in for failed ones at once, unpaid; {} would do for 95 % of failures",
        counted(cost.spares_for_95, "spare node"));
  }
  return fmt::format(
      "{} paid and waited for where they run out ({} of the time); {} would do for "
      "95 % of failures",
      counted(*spares, "spare node"), percent(cost.shares.waiting), cost.spares_for_95);
}

std::string power_note(const TrainingCost& cost) {
  const auto& power = cost.question.power;
  if (!cost.kwh) return "energy is unknown, as the data sheet states no power of the device";
  const std::string device =
      power.device_w ? fmt::format("{:g} W a device in iterations, as stated", *power.device_w)
                     : fmt::format("shares of the board's {:g} W by phase", *power.board_w);
  const std::string host =
      power.host_w ? fmt::format("{:g} W", *power.host_w) : std::string("an assumed share");
  return fmt::format("energy: {}; {} for its part of the node; PUE {:g}", device, host, power.pue);
}

}  // namespace

std::string amount_text(double amount) {
  constexpr std::array<std::pair<double, const char*>, 4> units{
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}}};
  for (const auto& [unit, letter] : units) {
    if (amount >= unit) return fmt::format("{:.4g}{}", amount / unit, letter);
  }
  return fmt::format("{:.4g}", amount);
}

std::string training_time_text(double seconds) {
  constexpr double two_days = 2 * seconds_a_day;
  if (seconds < two_days) return significant(seconds / 3600, 4) + " hours";
  return significant(seconds / seconds_a_day, 4) + " days";
}

Fields<TrainingCost> training_cost_fields(std::span<const TrainingCost> trainings) {
  return joined<TrainingCost>({numbers_of_time(), numbers_of_failures(), columns(trainings)});
}

std::vector<std::string> training_cost_notes(std::span<const TrainingCost> trainings) {
  EXPECT(!trainings.empty());
  const TrainingCost& last = trainings.back();
  std::vector<std::string> notes;
  if (std::isfinite(last.mtbf.si())) {
    const auto& stated = last.question.mtbf;
    notes.push_back(fmt::format(
        "a failure every {}{}, {}", training_time_text(last.mtbf.si()),
        trainings.size() > 1 ? " in the last row" : "",
        stated.all_h ? "as stated"
                     : "at the rates of 16,384 H100; the interval is that of five clusters"));
  } else {
    notes.emplace_back("nothing fails, as stated");
  }
  notes.push_back(storage_note(last));
  notes.push_back(spares_note(last));
  notes.push_back(power_note(last));
  for (const TrainingCost& one : trainings) {
    for (const std::string& own : one.question.notes) {
      if (std::ranges::find(notes, own) == notes.end()) notes.push_back(own);
    }
  }
  return notes;
}

}  // namespace dlscale::report
