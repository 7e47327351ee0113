#include "report/prediction/out_of_core_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::SpillAnswer;
using model::SpillChoice;
using model::SpillTensor;

struct PolicyRow {
  Run run;
  SpillAnswer answer;
  double slow_down = 0;
  Bytes memory;
};

/// A tensor with its copies there and back, and what the policy does with it.
struct TensorRow {
  SpillTensor tensor;
  Seconds copies;
  SpillChoice choice = SpillChoice::keep;
};

std::string gigabytes_text(Bytes size) {
  constexpr double least_shown = 1e6;
  return size.si() < least_shown ? "0" : fmt::format("{:.3g}", size.si() / 1e9);
}

/// "no" without enough memory.
std::string fits(const PolicyRow& row) {
  return row.answer.peak <= row.memory ? "yes" : "no";
}

template <class Row, class Get>
Field<Row> size_field(std::string key, Get get, std::string header) {
  return {std::move(key), Meaning::value, get, std::move(header),
          [get](const Row& row) { return gigabytes_text(Bytes(std::invoke(get, row))); }};
}

Fields<PolicyRow> policy_fields() {
  using enum Meaning;
  using F = Field<PolicyRow>;
  const auto of = [](auto member) { return via(&PolicyRow::answer, member); };
  const auto name = [](const PolicyRow& row) {
    return std::string(model::spill_policy_name(row.answer.policy));
  };
  const auto peak = [](const PolicyRow& row) { return row.answer.peak; };
  const auto out = [](const PolicyRow& row) { return row.answer.to_host; };
  const auto anew = [](const PolicyRow& row) { return row.answer.anew; };
  const auto stall_text = [](const PolicyRow& row) {
    const bool is_rounding = row.answer.stall < 1e-9 * row.answer.total;
    return is_rounding ? std::string("0") : milliseconds(row.answer.stall);
  };
  F verdict{"fits",
            state,
            fits,
            "fits",
            [](const PolicyRow& row) {
              const std::string word = fits(row);
              return Cell{word, word == "yes" ? Tone::good : Tone::bad};
            },
            Align::left};
  verdict.states = {"yes", "no"};
  return joined<PolicyRow>(
      {part_of<PolicyRow>(
           for_programs(picked(run_fields(), {"network", "cluster", "batch", "dtype"})),
           &PolicyRow::run),
       {F("policy", key, name, "policy", as::words),
        F("step_s", value, of(&SpillAnswer::total), "step ms", as::milliseconds),
        F("stall_s", value, of(&SpillAnswer::stall), "stall", stall_text),
        F("recompute_s", value, of(&SpillAnswer::recomputing), "recompute", as::milliseconds),
        F("slow_down", value, &PolicyRow::slow_down, "slower", as::percent),
        size_field<PolicyRow>("peak_bytes", peak, "memory GB"),
        size_field<PolicyRow>("swapped_bytes", out, "swapped"),
        size_field<PolicyRow>("recomputed_bytes", anew, "recomputed"),
        F("memory_bytes", value, &PolicyRow::memory), verdict}});
}

Fields<TensorRow> tensor_fields() {
  using enum Meaning;
  using F = Field<TensorRow>;
  const auto name = [](const TensorRow& row) { return row.tensor.name; };
  const auto size = [](const TensorRow& row) { return row.tensor.size; };
  const auto anew = [](const TensorRow& row) { return row.tensor.recompute; };
  const auto choice = [](const TensorRow& row) {
    return std::string(model::spill_choice_name(row.choice));
  };
  return {F("tensor", key, name, "output of", as::words),
          size_field<TensorRow>("bytes", size, "GB"),
          F("copies_s", value, &TensorRow::copies, "copies ms", as::milliseconds),
          F("recompute_s", value, anew, "recompute ms", as::milliseconds),
          F("choice", remark, choice, "choice", as::words)};
}

std::vector<TensorRow> tensor_rows(const OutOfCoreAnswer& answer) {
  std::vector<TensorRow> rows;
  const std::vector<SpillChoice>& choices = answer.answers.front().choices;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const SpillTensor& tensor = answer.training.tensors[i];
    rows.push_back(
        {tensor, answer.link.out(tensor.size) + answer.link.in(tensor.size), choices[i]});
  }
  return rows;
}

std::string lead_of(const std::vector<PolicyRow>& rows) {
  const auto rank = [](const PolicyRow& row) {
    return std::pair(row.answer.peak > row.memory, row.answer.total);
  };
  const PolicyRow& best = *std::ranges::min_element(rows, {}, rank);
  if (best.answer.peak > best.memory) {
    return fmt::format("No policy fits the device of {} GB.", gigabytes_text(best.memory));
  }
  return fmt::format(
      "The quickest policy that fits is {}: an iteration takes {}, {} longer than with enough "
      "memory. The interval is unknown.",
      model::spill_policy_name(best.answer.policy), to_text(best.answer.total),
      percent(best.slow_down));
}

}  // namespace

Document out_of_core_document(const OutOfCoreAnswer& answer, std::span<const std::string> notes) {
  EXPECT(!answer.answers.empty());
  std::vector<PolicyRow> rows;
  for (const SpillAnswer& one : answer.answers) {
    rows.push_back({answer.run, one, one.slow_down(answer.training), answer.memory});
  }
  Document document;
  document.lead = lead_of(rows);
  Table table = table_of(policy_fields(), rows);
  table.title = fmt::format("Out of core: {} on {}, {} of {} GB, {}", answer.training.name,
                            answer.run.cluster, "device", gigabytes_text(answer.memory),
                            dtype_name(answer.run.dtype));
  table.notes.assign(notes.begin(), notes.end());
  document.tables.push_back(std::move(table));
  std::vector<TensorRow> tensors;
  if (answer.tensors) tensors = tensor_rows(answer);
  if (!tensors.empty()) {
    Table listed = table_of(tensor_fields(), tensors);
    listed.title = fmt::format("What becomes of outputs under the policy {}",
                               model::spill_policy_name(answer.answers.front().policy));
    document.tables.push_back(std::move(listed));
  }
  document.records = records_of(policy_fields(), rows);
  document.json = json_answer("dlscale.out_of_core", [rows, tensors] {
    return Json{{"policies", list_of(policy_fields(), rows)},
                {"tensors", list_of(tensor_fields(), tensors)}};
  });
  return document;
}

}  // namespace dlscale::report
