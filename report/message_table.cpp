#include "report/message_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "core/quantity_text.hpp"
#include "report/numbers.hpp"
#include "report/record_columns.hpp"

namespace dlscale::report {
namespace {

using model::FamilyJudgement;
using model::JudgedMessage;
using model::MessageErrors;
using model::MessageJudgement;
using model::Unseen;

constexpr std::array kinds{Unseen::sizes, Unseen::ranks};

bool passes(const MessageErrors& errors, const MessageLimits& limits) {
  return errors.median <= limits.median && errors.p90 <= limits.p90;
}

std::vector<const JudgedMessage*> all_of(const MessageJudgement& judgement, Unseen unseen) {
  std::vector<const JudgedMessage*> all;
  for (const FamilyJudgement& family : judgement.families) {
    std::ranges::copy(of_kind(family, unseen), std::back_inserter(all));
  }
  return all;
}

std::string what_is(Unseen unseen) {
  return unseen == Unseen::sizes ? "other sizes" : "more ranks";
}

/// "2, 3".
std::string ranks_text(const std::vector<const JudgedMessage*>& messages) {
  std::set<int> ranks;
  for (const JudgedMessage* judged : messages) ranks.insert(judged->sample.layout.ranks);
  return fmt::format("{}", fmt::join(ranks, ", "));
}

std::string fitted_ranks(const model::AlgorithmFit& fit) {
  std::set<int> ranks;
  for (const model::LayoutFit& layout : fit.layouts) ranks.insert(layout.layout.ranks);
  return fmt::format("{}", fmt::join(ranks, ", "));
}

std::string sentence(const MessageJudgement& judgement) {
  std::vector<std::string> parts;
  for (const Unseen unseen : kinds) {
    const auto all = all_of(judgement, unseen);
    if (all.empty()) continue;
    const MessageErrors errors = model::errors_of(all);
    parts.push_back(
        fmt::format("{} of {}: median error {}, 90 % within {} (straight line: {} and {})",
                    counted(errors.messages, "message"), what_is(unseen), percent(errors.median),
                    percent(errors.p90), percent(errors.naive_median), percent(errors.naive_p90)));
  }
  return fmt::format("Of messages that were not fitted, {}.", fmt::join(parts, "; "));
}

std::vector<Cell> errors_row(const FamilyJudgement& family, Unseen unseen,
                             const std::vector<const JudgedMessage*>& messages,
                             const MessageLimits& limits) {
  const MessageErrors errors = model::errors_of(messages);
  const bool passed = passes(errors, limits);
  return {{family.family.name()},
          {family.family.library},
          {fitted_ranks(family.fit)},
          {what_is(unseen)},
          {ranks_text(messages)},
          {std::to_string(errors.messages)},
          {signed_percent(errors.bias)},
          {percent(errors.median)},
          {percent(errors.p90)},
          {percent(errors.naive_median)},
          {percent(errors.naive_p90)},
          {std::to_string(errors.sizes_extrapolated)},
          {passed ? "kept" : "missed", passed ? Tone::good : Tone::bad}};
}

Table errors_table(const MessageJudgement& judgement, const MessageLimits& limits) {
  Table table;
  table.title = "Error of predicted messages that were not fitted";
  table.columns = {{"messages", Align::left},
                   {"library", Align::left},
                   {"fitted on ranks", Align::left},
                   {"predicted", Align::left},
                   {"on ranks", Align::left},
                   {"n"},
                   {"bias"},
                   {"median"},
                   {"90 % within"},
                   {"line: median"},
                   {"line: 90 %"},
                   {"sizes extrapolated"},
                   {"verdict", Align::left}};
  int not_judged = 0;
  for (const FamilyJudgement& family : judgement.families) {
    not_judged += family.not_judged;
    for (const Unseen unseen : kinds) {
      const auto messages = of_kind(family, unseen);
      if (!messages.empty()) table.rows.push_back(errors_row(family, unseen, messages, limits));
    }
  }
  table.notes = {
      fmt::format("limits: median {}, 90 % within {}", percent(limits.median), percent(limits.p90)),
      "fitted: the sizes that a hash of their octave chose; others, and more ranks, were not seen",
      "bias: median of (predicted − measured) / measured; median, 90 %: of its absolute value",
      "line: one α + β m through the fitted sizes of the same, or of the nearest, number of ranks",
      "sizes extrapolated: below or above all sizes fitted"};
  if (not_judged > 0) {
    table.notes.push_back(fmt::format(
        "{} not judged: links that they cross were not fitted, or it is not known which algorithm "
        "carries them",
        counted(not_judged, "message")));
  }
  for (const std::string& family : judgement.left_out) {
    table.notes.push_back(fmt::format("left out: {}", family));
  }
  return table;
}

template <class Q>
std::string with_interval(const model::Estimate<Q>& estimate, double unit) {
  return fmt::format("{} ({} to {})", significant(estimate.value.si() * unit, 3),
                     significant(estimate.low.si() * unit, 3),
                     significant(estimate.high.si() * unit, 3));
}

std::vector<Cell> link_cells(const std::optional<model::LinkFit>& link) {
  if (!link) return {{"–"}, {"–"}};
  return {{with_interval(link->alpha, 1e6)}, {with_interval(link->beta, 1e9)}};
}

std::vector<Cell> range_row(const FamilyJudgement& family, const model::LinkRange& range) {
  const model::AlgorithmFit& fit = family.fit;
  std::vector<Cell> row{{family.family.name()},
                        {fit.carrier.name()},
                        {std::string(to_string(fit.carrier.chosen_by))},
                        {std::string(to_string(fit.range_of))},
                        {fmt::format("{:.0f} to {:.0f}", range.from.si(), range.to.si())}};
  for (const auto& link : {range.intra, range.inter}) {
    std::ranges::move(link_cells(link), std::back_inserter(row));
  }
  row.push_back({std::to_string(range.points)});
  row.push_back({percent(range.median_residual)});
  return row;
}

/// Of a fit that did not foresee the largest number of ranks that it was given.
std::optional<std::string> warning_of(const FamilyJudgement& family) {
  const auto& foresight = family.fit.foresight;
  if (!foresight || !foresight->is_poor()) return std::nullopt;
  return fmt::format(
      "more ranks are a guess for {} ({}): by {}, fitted to fewer ranks, those on {} were off by "
      "{} "
      "at the median",
      family.family.name(), family.family.measured_on, family.fit.carrier.name(), foresight->ranks,
      percent(foresight->median));
}

/// What a byte costs more that meets another one, range by range.
std::string costs_both_ways(const model::AlgorithmFit& fit) {
  std::vector<std::string> costs;
  for (const model::LinkRange& range : fit.ranges) {
    if (!range.both_ways) continue;
    costs.push_back(fmt::format("{} ns/B from {:.0f} to {:.0f} bytes",
                                with_interval(*range.both_ways, 1e9), range.from.si(),
                                range.to.si()));
  }
  return fmt::format("{}", fmt::join(costs, ", "));
}

/// What of messages between nodes counts by itself in a fit, or does not.
std::vector<std::string> between_nodes(const FamilyJudgement& family) {
  const model::AlgorithmFit& fit = family.fit;
  const bool any =
      std::ranges::any_of(fit.ranges, [](const auto& range) { return range.inter.has_value(); });
  if (!any || fit.carrier.chosen_by == model::ChosenBy::fit) return {};
  const std::string name = family.family.name();
  std::vector<std::string> notes;
  notes.push_back(
      fit.carrier.two_way
          ? fmt::format("{}: a byte between nodes costs χ more if another travels the other way "
                        "between the same two ranks: {}",
                        name, costs_both_ways(fit))
          : fmt::format("{}: nothing tells decisively that bytes which travel both ways at once "
                        "between two nodes cost more; β has it",
                        name));
  if (fit.carrier.cores > 0) {
    notes.push_back(fmt::format("{}: all nodes share {}, and α counts once for each rank to a core",
                                name, counted(fit.carrier.cores, "core")));
  }
  return notes;
}

Table fits_table(const MessageJudgement& judgement) {
  Table table;
  table.title = "Parameters of the links, over all numbers of ranks fitted";
  table.columns = {{"messages", Align::left},  {"closed form", Align::left},
                   {"chosen by", Align::left}, {"sizes of", Align::left},
                   {"bytes", Align::left},     {"α in a node, us"},
                   {"β in a node, ns/B"},      {"α between nodes, us"},
                   {"β between nodes, ns/B"},  {"points"},
                   {"median residual"}};
  int untold = 0;
  for (const FamilyJudgement& family : judgement.families) {
    if (family.fit.ranges.empty()) ++untold;
    for (const model::LinkRange& range : family.fit.ranges) {
      table.rows.push_back(range_row(family, range));
    }
  }
  table.notes = {"in brackets: the 95 % interval; β has what it costs to add a byte",
                 "sizes of: whole messages, or what travels at once (transfer)"};
  if (untold > 0) {
    table.notes.push_back(fmt::format(
        "{} without: fitted on one number of ranks, which tells no algorithm from another; more "
        "ranks were predicted by the one that would take least time",
        counted(untold, "kind")));
  }
  for (const FamilyJudgement& family : judgement.families) {
    std::ranges::move(between_nodes(family), std::back_inserter(table.notes));
    if (auto warning = warning_of(family)) table.notes.push_back(std::move(*warning));
  }
  return table;
}

std::vector<const JudgedMessage*> worst_of(const MessageJudgement& judgement) {
  constexpr std::size_t shown = 10;
  std::vector<const JudgedMessage*> worst;
  for (const Unseen unseen : kinds) {
    std::ranges::copy(all_of(judgement, unseen), std::back_inserter(worst));
  }
  std::ranges::stable_sort(worst, std::greater{},
                           [](const JudgedMessage* judged) { return std::abs(judged->error()); });
  worst.resize(std::min(shown, worst.size()));
  return worst;
}

Table worst_table(const MessageJudgement& judgement) {
  Table table;
  table.title = "Largest errors";
  table.columns = {{"ranks"},
                   {"on a node"},
                   {"bytes"},
                   {"measured us"},
                   {"predicted us"},
                   {"error"},
                   {"closed form", Align::left},
                   {"basis", Align::left}};
  for (const JudgedMessage* judged : worst_of(judgement)) {
    const model::MessageSample& sample = judged->sample;
    table.rows.push_back(
        {{std::to_string(sample.layout.ranks)},
         {std::to_string(sample.layout.ranks_on_node())},
         {fmt::format("{:.0f}", sample.bytes.si())},
         {significant(sample.time.value.si() * 1e6, 4)},
         {significant(judged->prediction.time.value.si() * 1e6, 4)},
         {signed_percent(judged->error())},
         {judged->prediction.algorithm.empty() ? "–" : judged->prediction.algorithm},
         {judged->prediction.basis()}});
  }
  return table;
}

Table records(const MessageJudgement& judgement) {
  Table table;
  add_columns(table.columns, Meaning::key,
              {"measured_on", "messages", "library", "ranks", "ranks_on_node", "bytes", "unseen"});
  add_columns(table.columns, Meaning::value,
              {"measured_s", "predicted_s", "low_s", "high_s", "line_s", "error"});
  add_columns(table.columns, Meaning::remark, {"algorithm", "basis"});
  for (const FamilyJudgement& family : judgement.families) {
    for (const JudgedMessage& judged : family.messages) {
      const model::MessageSample& sample = judged.sample;
      const auto& predicted = judged.prediction;
      table.rows.push_back({{family.family.measured_on},
                            {family.family.name()},
                            {family.family.library},
                            {std::to_string(sample.layout.ranks)},
                            {std::to_string(sample.layout.ranks_on_node())},
                            {exact(sample.bytes.si())},
                            {judged.unseen == Unseen::sizes ? "sizes" : "ranks"},
                            {exact(sample.time.value.si())},
                            {exact(predicted.time.value.si())},
                            {exact(predicted.time.low.si())},
                            {exact(predicted.time.high.si())},
                            {exact(judged.naive.si())},
                            {exact(judged.error())},
                            {predicted.algorithm},
                            {predicted.basis()}});
    }
  }
  return table;
}

}  // namespace

std::vector<const JudgedMessage*> of_kind(const FamilyJudgement& family, Unseen unseen) {
  std::vector<const JudgedMessage*> chosen;
  for (const JudgedMessage& judged : family.messages) {
    if (judged.unseen == unseen) chosen.push_back(&judged);
  }
  return chosen;
}

ExitCode exit_code(const MessageJudgement& judgement, const MessageLimits& limits) {
  bool complete = judgement.left_out.empty();
  for (const FamilyJudgement& family : judgement.families) {
    complete = complete && family.not_judged == 0;
    for (const Unseen unseen : kinds) {
      const auto messages = of_kind(family, unseen);
      if (!messages.empty() && !passes(model::errors_of(messages), limits)) {
        return ExitCode::regression;
      }
    }
  }
  return complete ? ExitCode::ok : ExitCode::inconclusive;
}

Document message_document(const MessageJudgement& judgement, const MessageLimits& limits) {
  return {sentence(judgement),
          {errors_table(judgement, limits), fits_table(judgement), worst_table(judgement)},
          records(judgement),
          message_json(judgement, limits)};
}

}  // namespace dlscale::report
