#include "report/messages/message_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::FamilyJudgement;
using model::JudgedMessage;
using model::MessageErrors;
using model::MessageJudgement;
using model::HeldOut;

constexpr std::array kinds{HeldOut::sizes, HeldOut::ranks};

bool passes(const MessageErrors& errors, const MessageLimits& limits) {
  return errors.median <= limits.median && errors.p90 <= limits.p90;
}

std::vector<const JudgedMessage*> all_of(const MessageJudgement& judgement, HeldOut unseen) {
  std::vector<const JudgedMessage*> all;
  for (const FamilyJudgement& family : judgement.families) {
    std::ranges::copy(of_kind(family, unseen), std::back_inserter(all));
  }
  return all;
}

std::string what_is(HeldOut unseen) {
  return unseen == HeldOut::sizes ? "other sizes" : "more ranks";
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
  for (const HeldOut unseen : kinds) {
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

/// Errors of the messages of a family that were not fitted, of one kind.
struct ErrorsRow {
  const FamilyJudgement* family;
  HeldOut unseen;
  std::vector<const JudgedMessage*> messages;
  MessageErrors errors;
};

/// Errors, in the order of JSON.
Fields<MessageErrors> error_fields() {
  using enum Meaning;
  return {
      {"messages", value, &MessageErrors::messages, "n", as::exact},
      {"sizes_extrapolated", value, &MessageErrors::sizes_extrapolated, "sizes extrapolated",
       as::exact},
      {"bias", value, &MessageErrors::bias, "bias", as::signed_percent},
      {"median_abs", value, &MessageErrors::median, "median", as::percent},
      {"p90_abs", value, &MessageErrors::p90, "90 % within", as::percent},
      {"line_median_abs", value, &MessageErrors::naive_median, "line: median", as::percent},
      {"line_p90_abs", value, &MessageErrors::naive_p90, "line: 90 %", as::percent},
  };
}

Fields<ErrorsRow> errors_row_fields(const MessageLimits& limits) {
  using F = Field<ErrorsRow>;
  const auto family = [](auto... path) { return via(&ErrorsRow::family, path...); };
  const auto name = family(&FamilyJudgement::family, &model::MessageFamily::name);
  const auto library = family(&FamilyJudgement::family, &model::MessageFamily::library);
  const auto fitted = family(&FamilyJudgement::fit, fitted_ranks);
  const auto verdict = [limits](const ErrorsRow& row) {
    return kept_cell(passes(row.errors, limits));
  };
  return joined<ErrorsRow>({
      {F::table("messages", name, Align::left), F::table("library", library, Align::left),
       F::table("fitted on ranks", fitted, Align::left),
       F::table("predicted", via(&ErrorsRow::unseen, what_is), Align::left),
       F::table("on ranks", via(&ErrorsRow::messages, ranks_text), Align::left)},
      part_of<ErrorsRow>(
          picked(error_fields(), {"messages", "bias", "median_abs", "p90_abs", "line_median_abs",
                                  "line_p90_abs", "sizes_extrapolated"}),
          &ErrorsRow::errors),
      {F::table("verdict", verdict, Align::left)},
  });
}

Table errors_table(const MessageJudgement& judgement, const MessageLimits& limits) {
  std::vector<ErrorsRow> rows;
  int not_judged = 0;
  for (const FamilyJudgement& family : judgement.families) {
    not_judged += family.not_judged;
    for (const HeldOut unseen : kinds) {
      const auto messages = of_kind(family, unseen);
      if (messages.empty()) continue;
      rows.push_back({&family, unseen, messages, model::errors_of(messages)});
    }
  }
  Table table = table_of(errors_row_fields(limits), rows);
  table.title = "Error of predicted messages that were not fitted";
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

/// A warning if the fit did not foresee the largest number of ranks given to it.
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

/// Extra cost of a byte that meets another one, range by range.
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

/// Terms of messages between nodes that the fit counts separately, or does not.
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

/// A measured message and its prediction.
struct JudgedMessageRow {
  const FamilyJudgement* family;
  const JudgedMessage* judged;
};

std::vector<JudgedMessageRow> rows_of(const FamilyJudgement& family) {
  std::vector<JudgedMessageRow> rows;
  for (const JudgedMessage& judged : family.messages) rows.push_back({&family, &judged});
  return rows;
}

Fields<JudgedMessageRow> message_fields() {
  using F = Field<JudgedMessageRow>;
  using enum Meaning;
  using model::MessageFamily;
  using model::MessageSample;
  using Time = model::Estimate<Seconds>;
  const auto family = [](auto... path) {
    return via(&JudgedMessageRow::family, &FamilyJudgement::family, path...);
  };
  const auto its = [](auto... path) { return via(&JudgedMessageRow::judged, path...); };
  const auto sample = [=](auto... path) { return its(&JudgedMessage::sample, path...); };
  const auto predicted = [=](auto... path) { return its(&JudgedMessage::prediction, path...); };
  using Prediction = std::decay_t<decltype(JudgedMessage::prediction)>;
  using Layout = std::decay_t<decltype(MessageSample::layout)>;
  const auto microseconds = [](Seconds time) { return significant(time.si() * 1e6, 4); };
  const auto unseen = [](HeldOut which) { return which == HeldOut::sizes ? "sizes" : "ranks"; };
  return {
      F::record("measured_on", key, family(&MessageFamily::measured_on)),
      F::record("messages", key, family(&MessageFamily::name)),
      F::record("library", key, family(&MessageFamily::library)),
      {"ranks", key, sample(&MessageSample::layout, &Layout::ranks), "ranks", as::exact},
      {"ranks_on_node", key, sample(&MessageSample::layout, &Layout::ranks_on_node), "on a node",
       as::exact},
      {"bytes", key, sample(&MessageSample::bytes), "bytes", as::whole},
      {"unseen", key, its(&JudgedMessage::unseen, unseen)},
      {"measured_s", value, sample(&MessageSample::time, &Time::value), "measured us",
       sample(&MessageSample::time, &Time::value, microseconds)},
      {"predicted_s", value, predicted(&Prediction::time, &Time::value), "predicted us",
       predicted(&Prediction::time, &Time::value, microseconds)},
      {"low_s", value, predicted(&Prediction::time, &Time::low)},
      {"high_s", value, predicted(&Prediction::time, &Time::high)},
      {"line_s", value, its(&JudgedMessage::naive)},
      {"error", value, its(&JudgedMessage::error), "error", as::signed_percent},
      F::record("algorithm", remark, predicted(&Prediction::algorithm)),
      F::json("closed_form", predicted(&Prediction::algorithm)),
      F::table("closed form", predicted(&Prediction::algorithm, text_or_null), as::words_or_dash),
      {"basis", remark, predicted(&Prediction::basis), "basis", as::words},
  };
}

Table worst_table(const MessageJudgement& judgement) {
  constexpr std::size_t shown = 10;
  std::vector<JudgedMessageRow> worst;
  for (const HeldOut unseen : kinds) {
    for (const FamilyJudgement& family : judgement.families) {
      for (const JudgedMessage* judged : of_kind(family, unseen))
        worst.push_back({&family, judged});
    }
  }
  std::ranges::stable_sort(worst, std::greater{}, [](const JudgedMessageRow& row) {
    return std::abs(row.judged->error());
  });
  worst.resize(std::min(shown, worst.size()));
  Table table = table_of(message_fields(), worst);
  table.title = "Largest errors";
  return table;
}

Table records(const MessageJudgement& judgement) {
  std::vector<JudgedMessageRow> rows;
  for (const FamilyJudgement& family : judgement.families) {
    std::ranges::copy(rows_of(family), std::back_inserter(rows));
  }
  return records_of(message_fields(), rows);
}

Json errors_object(const std::vector<const JudgedMessage*>& messages) {
  return messages.empty() ? Json(nullptr) : object_of(error_fields(), model::errors_of(messages));
}

template <class Q>
Json estimate_object(const model::Estimate<Q>& estimate) {
  return {{"value", value_of(estimate.value)},
          {"low", value_of(estimate.low)},
          {"high", value_of(estimate.high)}};
}

Json link_object(const std::optional<model::LinkFit>& link) {
  if (!link) return nullptr;
  return {{"alpha_s", estimate_object(link->alpha)},
          {"beta_s_per_byte", estimate_object(link->beta)}};
}

Json foresight_object(const std::optional<model::Foresight>& foresight) {
  if (!foresight) return nullptr;
  return {{"ranks", foresight->ranks},
          {"from_ranks", foresight->from},
          {"median_abs", number(foresight->median)},
          {"deviation", number(foresight->deviation)}};
}

Json fit_object(const model::AlgorithmFit& fit) {
  Json ranges = Json::array();
  for (const model::LinkRange& range : fit.ranges) {
    ranges.push_back({{"from_bytes", value_of(range.from)},
                      {"to_bytes", value_of(range.to)},
                      {"intra_node", link_object(range.intra)},
                      {"inter_node", link_object(range.inter)},
                      {"both_ways_s_per_byte",
                       range.both_ways ? estimate_object(*range.both_ways) : Json(nullptr)},
                      {"median_residual", number(range.median_residual)},
                      {"points", range.points}});
  }
  return {{"closed_form", fit.carrier.name()}, {"chosen_by", to_string(fit.carrier.chosen_by)},
          {"shared_cores", fit.carrier.cores}, {"ranges_of", to_string(fit.range_of)},
          {"ranges", std::move(ranges)},       {"foresight", foresight_object(fit.foresight)}};
}

Json family_object(const FamilyJudgement& family) {
  return {{"messages", family.family.name()},
          {"library", family.family.library},
          {"measured_on", family.family.measured_on},
          {"source", family.family.source},
          {"most_ranks_fitted", family.most_ranks},
          {"fit", fit_object(family.fit)},
          {"sizes", errors_object(of_kind(family, HeldOut::sizes))},
          {"ranks", errors_object(of_kind(family, HeldOut::ranks))},
          {"not_judged", family.not_judged},
          {"samples", list_of(message_fields(), rows_of(family))}};
}

Json judgement_object(const MessageJudgement& judgement, const MessageLimits& limits) {
  Json families = Json::array();
  for (const FamilyJudgement& family : judgement.families) {
    families.push_back(family_object(family));
  }
  return {{"verdict", verdict_word(exit_code(judgement, limits))},
          {"limits", {{"median_abs", number(limits.median)}, {"p90_abs", number(limits.p90)}}},
          {"families", std::move(families)},
          {"left_out", judgement.left_out}};
}

}  // namespace

std::vector<const JudgedMessage*> of_kind(const FamilyJudgement& family, HeldOut unseen) {
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
    for (const HeldOut unseen : kinds) {
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
          json_answer("dlscale.message_validation",
                      [judgement, limits] { return judgement_object(judgement, limits); })};
}

}  // namespace dlscale::report
