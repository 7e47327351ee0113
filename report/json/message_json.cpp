#include "report/json/fields.hpp"
#include "report/message_table.hpp"

namespace dlscale::report {
namespace {

using model::FamilyJudgement;
using model::JudgedMessage;
using model::Unseen;

Json errors_fields(const std::vector<const JudgedMessage*>& messages) {
  if (messages.empty()) return nullptr;
  const model::MessageErrors errors = model::errors_of(messages);
  return {{"messages", errors.messages},
          {"sizes_extrapolated", errors.sizes_extrapolated},
          {"bias", number(errors.bias)},
          {"median_abs", number(errors.median)},
          {"p90_abs", number(errors.p90)},
          {"line_median_abs", number(errors.naive_median)},
          {"line_p90_abs", number(errors.naive_p90)}};
}

template <class Q>
Json estimate_fields(const model::Estimate<Q>& estimate) {
  return {{"value", number(estimate.value.si())},
          {"low", number(estimate.low.si())},
          {"high", number(estimate.high.si())}};
}

Json link_fields(const std::optional<model::LinkFit>& link) {
  if (!link) return nullptr;
  return {{"alpha_s", estimate_fields(link->alpha)},
          {"beta_s_per_byte", estimate_fields(link->beta)}};
}

Json foresight_fields(const std::optional<model::Foresight>& foresight) {
  if (!foresight) return nullptr;
  return {{"ranks", foresight->ranks},
          {"from_ranks", foresight->from},
          {"median_abs", number(foresight->median)},
          {"deviation", number(foresight->deviation)}};
}

Json fit_fields(const model::AlgorithmFit& fit) {
  Json ranges = Json::array();
  for (const model::LinkRange& range : fit.ranges) {
    ranges.push_back({{"from_bytes", number(range.from.si())},
                      {"to_bytes", number(range.to.si())},
                      {"intra_node", link_fields(range.intra)},
                      {"inter_node", link_fields(range.inter)},
                      {"both_ways_s_per_byte",
                       range.both_ways ? estimate_fields(*range.both_ways) : Json(nullptr)},
                      {"median_residual", number(range.median_residual)},
                      {"points", range.points}});
  }
  return {{"closed_form", fit.carrier.name()}, {"chosen_by", to_string(fit.carrier.chosen_by)},
          {"shared_cores", fit.carrier.cores}, {"ranges_of", to_string(fit.range_of)},
          {"ranges", std::move(ranges)},       {"foresight", foresight_fields(fit.foresight)}};
}

Json message_fields(const JudgedMessage& judged) {
  const model::MessageSample& sample = judged.sample;
  return {{"ranks", sample.layout.ranks},
          {"ranks_on_node", sample.layout.ranks_on_node()},
          {"bytes", number(sample.bytes.si())},
          {"unseen", judged.unseen == Unseen::sizes ? "sizes" : "ranks"},
          {"measured_s", number(sample.time.value)},
          {"predicted_s", number(judged.prediction.time.value)},
          {"low_s", number(judged.prediction.time.low)},
          {"high_s", number(judged.prediction.time.high)},
          {"line_s", number(judged.naive)},
          {"error", number(judged.error())},
          {"closed_form", judged.prediction.algorithm},
          {"basis", judged.prediction.basis()}};
}

Json family_fields(const FamilyJudgement& family) {
  Json messages = Json::array();
  for (const JudgedMessage& judged : family.messages) messages.push_back(message_fields(judged));
  return {{"messages", family.family.name()},
          {"library", family.family.library},
          {"measured_on", family.family.measured_on},
          {"source", family.family.source},
          {"most_ranks_fitted", family.most_ranks},
          {"fit", fit_fields(family.fit)},
          {"sizes", errors_fields(of_kind(family, Unseen::sizes))},
          {"ranks", errors_fields(of_kind(family, Unseen::ranks))},
          {"not_judged", family.not_judged},
          {"samples", std::move(messages)}};
}

std::string_view verdict(ExitCode code) {
  if (code == ExitCode::ok) return "passed";
  return code == ExitCode::inconclusive ? "inconclusive" : "failed";
}

}  // namespace

std::string message_json(const model::MessageJudgement& judgement, const MessageLimits& limits) {
  Json json{{"schema", "dlscale.message_validation"}, {"version", 1}};
  json["verdict"] = verdict(exit_code(judgement, limits));
  json["limits"] = {{"median_abs", number(limits.median)}, {"p90_abs", number(limits.p90)}};
  json["families"] = Json::array();
  for (const FamilyJudgement& family : judgement.families) {
    json["families"].push_back(family_fields(family));
  }
  json["left_out"] = judgement.left_out;
  return dump(json);
}

}  // namespace dlscale::report
