#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/gate/gate_session.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::app {
namespace {

using Json = nlohmann::ordered_json;
using regression::Injected;
using regression::KernelNoise;
using regression::NoiseStudy;
using regression::PowerPoint;
using regression::RuleRates;
using report::Align;
using report::Cell;
using report::Table;

std::string share(double value) {
  return fmt::format("{:.3f}", value);
}

std::string smallest_text(const std::optional<double>& smallest) {
  return smallest ? ">= " + percent(*smallest) : "none up to 50 %";
}

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

Table noise_table(const NoiseStudy& study) {
  Table table;
  table.title = "Noise";
  table.columns = {{"kernel", Align::left}, {"rounds"}, {"between runs"},   {"within a run"},
                   {"neighbours alike"},    {"pairs"},  {"injected (real)"}};
  for (const KernelNoise& kernel : study.kernels) {
    std::string injected;
    for (const Injected& one : kernel.injected) {
      injected += fmt::format("{}{} % ({})", injected.empty() ? "" : ", ", one.percent,
                              signed_percent(one.ratio - 1));
    }
    table.rows.push_back({{kernel.kernel},
                          {std::to_string(kernel.rounds)},
                          {percent(kernel.between_runs)},
                          {percent(kernel.within_run)},
                          {fmt::format("{:.2f}", kernel.autocorrelation)},
                          {percent(kernel.paired)},
                          {injected}});
  }
  table.notes = {
      "robust coefficients of variation (1.4826 MAD / median): of the minima of runs, of the "
      "samples within one, and of the ratio of two runs of one round",
      "neighbours alike: rank correlation of successive minima"};
  return table;
}

Table rules_table(const NoiseStudy& study) {
  Table table;
  table.title = "How often the gate alarms";
  table.columns = {{"kernel", Align::left},
                   {"rule", Align::left},
                   {"windows"},
                   {"false alarms"},
                   {"not regressed"}};
  for (const Injected& one : study.kernels.front().injected) {
    table.columns.push_back({fmt::format("+{} %", one.percent)});
  }
  table.columns.push_back({"smallest seen"});
  for (const KernelNoise& kernel : study.kernels) {
    for (const RuleRates& rule : kernel.rules) {
      std::vector<Cell> row{{kernel.kernel}, {rule.name}, {std::to_string(rule.windows)}};
      const bool any = rule.windows > 0;
      row.push_back({any ? share(rule.false_alarms) : "-"});
      row.push_back({any ? share(rule.cleared) : "-"});
      for (std::size_t i = 0; i < kernel.injected.size(); ++i) {
        row.push_back({any ? share(rule.power[i].regressed) : "-"});
      }
      row.push_back({any ? smallest_text(rule.smallest) : "-"});
      table.rows.push_back(std::move(row));
    }
  }
  table.notes = {
      fmt::format("shares of all windows of successive rounds, margin {}; windows overlap, so they "
                  "are not independent trials",
                  percent(study.margin)),
      "smallest seen: the smallest effect called regressed in 80 % of the windows, from identical "
      "runs with that effect added"};
  return table;
}

Json fields(const RuleRates& rule) {
  Json power = Json::array();
  for (const PowerPoint& point : rule.power) {
    power.push_back({{"percent", point.percent}, {"regressed", point.regressed}});
  }
  const bool any = rule.windows > 0;
  return {{"rule", rule.name},
          {"rounds", rule.rounds},
          {"windows", rule.windows},
          {"false_alarms", any ? Json(rule.false_alarms) : Json(nullptr)},
          {"not_regressed", any ? Json(rule.cleared) : Json(nullptr)},
          {"power", power},
          {"smallest_effect", rule.smallest ? Json(*rule.smallest) : Json(nullptr)}};
}

Json fields(const KernelNoise& kernel) {
  Json injected = Json::array();
  for (const Injected& one : kernel.injected) {
    injected.push_back({{"percent", one.percent}, {"ratio", one.ratio}});
  }
  Json rules = Json::array();
  for (const RuleRates& rule : kernel.rules) rules.push_back(fields(rule));
  return {{"kernel", kernel.kernel},
          {"key", kernel.key},
          {"rounds", kernel.rounds},
          {"between_runs", kernel.between_runs},
          {"within_run", kernel.within_run},
          {"autocorrelation", kernel.autocorrelation},
          {"paired", kernel.paired},
          {"injected", injected},
          {"rules", rules}};
}

std::string json_of(const NoiseStudy& study) {
  Json json{{"schema", "dlscale.noise"}, {"version", 1}};
  json["margin"] = study.margin;
  json["sees"] = study.sees ? Json(*study.sees) : Json(nullptr);
  json["by_rule"] = study.by_rule;
  json["machine"] = study.machine;
  json["date"] = study.date;
  json["duration_s"] = study.seconds;
  json["set_aside"] = study.set_aside;
  json["unsteady"] = study.unsteady;
  json["kernels"] = Json::array();
  for (const KernelNoise& kernel : study.kernels) json["kernels"].push_back(fields(kernel));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Table records(const NoiseStudy& study) {
  Table table;
  report::add_columns(table.columns, report::Meaning::key, {"kernel", "rule"});
  report::add_columns(table.columns, report::Meaning::value, {"windows"});
  report::add_columns(table.columns, report::Meaning::key, {"percent"});
  report::add_columns(table.columns, report::Meaning::value, {"injected_ratio", "regressed"});
  for (const KernelNoise& kernel : study.kernels) {
    for (const RuleRates& rule : kernel.rules) {
      if (rule.windows == 0) continue;
      const std::string windows = std::to_string(rule.windows);
      table.rows.push_back(
          {{kernel.kernel}, {rule.name}, {windows}, {"0"}, {"1"}, {exact(rule.false_alarms)}});
      for (std::size_t i = 0; i < rule.power.size(); ++i) {
        table.rows.push_back({{kernel.kernel},
                              {rule.name},
                              {windows},
                              {std::to_string(rule.power[i].percent)},
                              {exact(kernel.injected[i].ratio)},
                              {exact(rule.power[i].regressed)}});
      }
    }
  }
  return table;
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
  document.json = json_of(study);
  return document;
}

}  // namespace dlscale::app
