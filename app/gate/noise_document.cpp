#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gate/gate_session.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::app {
namespace {

using regression::Injected;
using regression::KernelNoise;
using regression::NoiseStudy;
using regression::PowerPoint;
using regression::RuleRates;
using report::Fields;
using report::Json;
using report::Meaning;
using report::Table;
using report::via;
namespace as = report::as;

std::string lead(const NoiseStudy& study) {
  if (study.unsteady) {
    return fmt::format(
        "this machine was slowed or held back in {} of {} rounds, where no gate decides anything",
        study.set_aside, study.set_aside + study.kernels.front().rounds);
  }
  if (study.by_rule.empty()) return "too few rounds to say what this machine can see";
  if (!study.sees) {
    return fmt::format("this machine hides changes of up to 50 % in some kernel ({}, margin {})",
                       study.by_rule, percent(study.margin));
  }
  return fmt::format("this machine can see changes of {} or more ({}, margin {}, power 0.8)",
                     percent(*study.sees), study.by_rule, percent(study.margin));
}

/// A rule on a kernel.
struct RuleRow {
  const KernelNoise* kernel;
  const RuleRates* rule;
  [[nodiscard]] bool has_windows() const { return rule->windows > 0; }
};

std::vector<RuleRow> rows_of(const KernelNoise& kernel) {
  std::vector<RuleRow> rows;
  for (const RuleRates& rule : kernel.rules) rows.push_back({&kernel, &rule});
  return rows;
}

constexpr report::Look share{[](const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:.3f}", value.get<double>());
}};

/// Values of the injected sizes.
template <class Item>
Json by_percent(const std::vector<Item>& items, const char* name, double Item::*value) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back({{"percent", item.percent}, {name, item.*value}});
  return list;
}

/// The fields of a rule in the order of JSON; `injected` are the sizes with a column.
Fields<RuleRow> rule_fields(const std::vector<Injected>& injected = {}) {
  using F = report::Field<RuleRow>;
  using enum Meaning;
  const auto its = [](auto member) { return via(&RuleRow::rule, member); };
  const auto known = [](auto get) {
    return [get](const RuleRow& row) {
      return row.has_windows() ? std::optional<double>(get(*row.rule)) : std::nullopt;
    };
  };
  const auto power = [](const RuleRow& row) {
    return by_percent(row.rule->power, "regressed", &PowerPoint::regressed);
  };
  const auto smallest = [](const RuleRow& row) -> std::string {
    if (!row.has_windows()) return "-";
    return row.rule->smallest ? ">= " + percent(*row.rule->smallest) : "none up to 50 %";
  };
  Fields<RuleRow> fields{
      F::table("kernel", via(&RuleRow::kernel, &KernelNoise::kernel), as::words),
      {"rule", key, its(&RuleRates::name), "rule", as::words},
      F::json("rounds", its(&RuleRates::rounds)),
      {"windows", value, its(&RuleRates::windows), "windows", as::exact},
      {"false_alarms", value, known(via(&RuleRates::false_alarms)), "false alarms", share},
      {"not_regressed", value, known(via(&RuleRates::cleared)), "not regressed", share},
      F::json("power", power)};
  for (std::size_t i = 0; i < injected.size(); ++i) {
    const auto regressed = [i](const RuleRates& rule) { return rule.power[i].regressed; };
    fields.push_back(F::table(fmt::format("+{} %", injected[i].percent), known(regressed), share));
  }
  fields.push_back(
      {"smallest_effect", value, its(&RuleRates::smallest), "smallest seen", smallest});
  return fields;
}

/// The fields of a kernel in the order of JSON.
Fields<KernelNoise> kernel_fields() {
  using F = report::Field<KernelNoise>;
  using enum Meaning;
  const auto alike = [](const KernelNoise& kernel) {
    return fmt::format("{:.2f}", kernel.autocorrelation);
  };
  const auto injected = [](const KernelNoise& kernel) {
    return by_percent(kernel.injected, "ratio", &Injected::ratio);
  };
  const auto injected_text = [](const KernelNoise& kernel) {
    std::vector<std::string> texts;
    for (const Injected& one : kernel.injected) {
      texts.push_back(fmt::format("{} % ({})", one.percent, signed_percent(one.ratio - 1)));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  const auto rules = [](const KernelNoise& kernel) {
    return list_of(rule_fields(), rows_of(kernel));
  };
  return {{"kernel", key, &KernelNoise::kernel, "kernel", as::words},
          F::json("key", &KernelNoise::key),
          {"rounds", value, &KernelNoise::rounds, "rounds", as::exact},
          {"between_runs", value, &KernelNoise::between_runs, "between runs", as::percent},
          {"within_run", value, &KernelNoise::within_run, "within a run", as::percent},
          {"autocorrelation", value, &KernelNoise::autocorrelation, "neighbours alike", alike},
          {"paired", value, &KernelNoise::paired, "pairs", as::percent},
          {"injected", remark, injected, "injected (real)", injected_text},
          F::json("rules", rules)};
}

Table noise_table(const NoiseStudy& study) {
  Table table = table_of(kernel_fields(), study.kernels);
  table.title = "Noise";
  table.notes = {
      "robust coefficients of variation (1.4826 MAD / median): of the minima of runs, of the "
      "samples within one, and of the ratio of two runs of one round",
      "neighbours alike: rank correlation of successive minima"};
  return table;
}

Table rules_table(const NoiseStudy& study) {
  std::vector<RuleRow> rows;
  for (const KernelNoise& kernel : study.kernels) {
    for (const RuleRow& row : rows_of(kernel)) rows.push_back(row);
  }
  Table table = table_of(rule_fields(study.kernels.front().injected), rows);
  table.title = "How often the gate alarms";
  table.notes = {
      fmt::format("shares of all windows of successive rounds, margin {}; windows overlap, so they "
                  "are not independent trials",
                  percent(study.margin)),
      "smallest seen: the smallest effect called regressed in 80 % of the windows, from identical "
      "runs with that effect added"};
  return table;
}

Json noise_object(const NoiseStudy& study) {
  return {{"margin", study.margin},
          {"sees", report::value_of(study.sees)},
          {"by_rule", study.by_rule},
          {"machine", study.machine},
          {"date", study.date},
          {"duration_s", study.seconds},
          {"set_aside", study.set_aside},
          {"unsteady", study.unsteady},
          {"kernels", list_of(kernel_fields(), study.kernels)}};
}

/// How often a rule calls an injected effect regressed; 0 %: how often it raises false alarms.
struct EffectRow {
  RuleRow of;
  Injected injected;
  double regressed;
};

Table records(const NoiseStudy& study) {
  using F = report::Field<EffectRow>;
  using enum Meaning;
  std::vector<EffectRow> rows;
  for (const KernelNoise& kernel : study.kernels) {
    for (const RuleRow& row : rows_of(kernel)) {
      if (!row.has_windows()) continue;
      rows.push_back({row, {}, row.rule->false_alarms});
      for (std::size_t i = 0; i < row.rule->power.size(); ++i) {
        rows.push_back({row,
                        {row.rule->power[i].percent, kernel.injected[i].ratio},
                        row.rule->power[i].regressed});
      }
    }
  }
  const auto its = [](auto... path) { return via(&EffectRow::of, path...); };
  return report::records_of(
      Fields<EffectRow>{
          F::record("kernel", key, its(&RuleRow::kernel, &KernelNoise::kernel)),
          F::record("rule", key, its(&RuleRow::rule, &RuleRates::name)),
          F::record("windows", value, its(&RuleRow::rule, &RuleRates::windows)),
          F::record("percent", key, via(&EffectRow::injected, &Injected::percent)),
          F::record("injected_ratio", value, via(&EffectRow::injected, &Injected::ratio)),
          F::record("regressed", value, &EffectRow::regressed)},
      rows);
}

}  // namespace

report::Document noise_document(const NoiseStudy& study) {
  report::Document document;
  document.lead = lead(study);
  document.tables = {noise_table(study), rules_table(study)};
  std::vector<std::string> notes{fmt::format("{}; {} of processes; last round {}", study.machine,
                                             to_text(Seconds(study.seconds)), study.date)};
  notes.insert(notes.end(), study.notes.begin(), study.notes.end());
  document.tables.push_back({"Notes", {}, {}, std::move(notes)});
  document.records = records(study);
  document.json = report::json_answer("dlscale.noise", [study] { return noise_object(study); });
  return document;
}

}  // namespace dlscale::app
