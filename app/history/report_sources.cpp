#include "app/history/report_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "app/measure/result_files.hpp"
#include "backend/comm/launch.hpp"
#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "suite/cells/canary.hpp"
#include "suite/cells/plan.hpp"
#include "suite/cells/row.hpp"
#include "suite/launch/launch_command.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using report::CellOutcome;
using report::SuiteRecord;
using suite::CanaryShift;
using suite::CellRow;

std::string text_of(const fs::path& path) {
  return read_input(path, "Run the suite again, or name the result files by themselves.");
}

[[noreturn]] void refuse_damaged(const fs::path& path, const char* what) {
  throw ConfigError(fmt::format(
      "{} is damaged (no {}), so it is not known what became of its suite. Run the suite "
      "again, or name the result files by themselves.",
      path.string(), what));
}

/// A command in shell syntax.
std::string command_text(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += word + '\0';
  return backend::shell_text(joined);
}

std::string shape_of(const json& line) {
  return to_text(suite::LaunchShape{line.at("nodes"), line.at("ranks_per_node"),
                                    line.at("gpus_per_rank"), line.at("threads")});
}

CellOutcome outcome_of(const CellRow& row) {
  CellOutcome outcome;
  outcome.cell = row.cell;
  outcome.status = cell_status_name(row.status);
  outcome.is_fine = is_fine(row.status);
  outcome.reason = row.reason;
  outcome.exit_code = row.exit_code;
  outcome.seconds = row.seconds;
  outcome.started = row.started;
  outcome.command = command_text(row.command);
  outcome.shape = to_text(row.shape);
  outcome.job = row.nodes.empty() ? row.job : fmt::format("{} on {}", row.job, row.nodes);
  outcome.measurements = row.measurements;
  outcome.unstable = row.unstable;
  outcome.wrong = row.wrong;
  outcome.load = row.before.load;
  outcome.clocks = row.before.clocks;
  if (row.before.throttled && row.after.throttled) {
    outcome.slowed_by_heat = *row.after.throttled - *row.before.throttled;
  }
  return outcome;
}

/// The outcome of a planned cell: its row, or that it is left.
CellOutcome read_cell(const fs::path& folder, const json& planned) {
  const std::string cell = planned.at("cell");
  const fs::path path = folder / "cells" / cell / suite::row_file;
  std::error_code absent;
  if (!fs::exists(path, absent)) {
    CellOutcome left;
    left.cell = cell;
    left.status = "left";
    left.reason = "not carried out yet; the same command goes on with it";
    left.command = command_text(planned.at("command").get<std::vector<std::string>>());
    left.shape = shape_of(planned);
    return left;
  }
  try {
    return outcome_of(suite::parse_row(text_of(path)));
  } catch (const ConfigError&) {
    refuse_damaged(path, "row of a cell");
  }
}

std::string verdict_text(const json& verdict) {
  return to_text(CanaryShift{verdict.at("log_ratio"), verdict.at("ci95_low"),
                             verdict.at("ci95_high"), verdict.at("alarm")});
}

std::vector<report::CanaryOutcome> read_canaries(const fs::path& folder) {
  std::vector<report::CanaryOutcome> outcomes;
  std::istringstream lines(suite::canary_lines(folder));
  try {
    for (std::string line; std::getline(lines, line);) {
      const json record = json::parse(line);
      outcomes.push_back({record.at("started"), record.at("host_hash"), record.at("status") == "ok",
                          verdict_text(record.at("first")), verdict_text(record.at("last")),
                          verdict_text(record.at("drift"))});
    }
  } catch (const json::exception&) {
    refuse_damaged(folder / "canary", "record of a canary in a line");
  }
  return outcomes;
}

SuiteRecord read_suite(const fs::path& plan) {
  const fs::path folder = plan.parent_path();
  std::istringstream lines(text_of(plan));
  std::string line;
  SuiteRecord record;
  record.folder = folder.string();
  try {
    std::getline(lines, line);
    const json head = json::parse(line);
    record.suite = head.at("suite");
    record.build = head.at("build");
    record.system = head.at("system");
    record.seed = head.at("seed");
    while (std::getline(lines, line)) {
      record.cells.push_back(read_cell(folder, json::parse(line)));
    }
  } catch (const json::exception&) {
    refuse_damaged(plan, "plan of a suite in a line");
  }
  record.canaries = read_canaries(folder);
  return record;
}

/// The files plan.jsonl in and below a folder; folders of cells have none.
std::set<fs::path> plans_below(const fs::path& folder) {
  std::set<fs::path> plans;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name == "cells" || name == ".cells") entry.disable_recursion_pending();
    if (name == suite::plan_path("").filename() && has_schema(entry->path(), "dlscale.plan")) {
      plans.insert(entry->path());
    }
  }
  return plans;  // unreadable folders are reported when results are read
}

report::NoiseFinding noise_of(const fs::path& path) {
  try {
    const json study = json::parse(text_of(path));
    report::NoiseFinding finding{path.filename().string(), study.at("machine"), study.at("date"),
                                 ""};
    const std::string rule = study.at("by_rule");
    const std::string how =
        fmt::format("({}, margin {}, power 0.8)", rule, percent(study.at("margin").get<double>()));
    finding.margin = study.at("margin");
    for (const json& kernel : study.value("kernels", json::array())) {
      finding.spreads[kernel.at("kernel")] = kernel.at("paired");
    }
    if (rule.empty()) {
      finding.sees = "not known";
      finding.sentence = "not known, as there are too few rounds";
    } else if (study.at("sees").is_null()) {
      finding.sees = "none up to 50 %";
      finding.sentence = fmt::format("none up to 50 % in some kernel {}", how);
    } else {
      finding.sees = percent(study.at("sees").get<double>());
      finding.sentence = fmt::format("{} or more {}", finding.sees, how);
    }
    return finding;
  } catch (const json::exception&) {
    throw ConfigError(
        fmt::format("{} is not a study of noise that this dlscale can read. Make it again (dlscale "
                    "noise --format "
                    "json), or leave it out.",
                    path.string()));
  }
}

bool is_prediction_file(const std::string& path) {
  return has_schema(path, "dlscale.prediction") || has_schema(path, "dlscale.sweep");
}

std::string last_part(const std::string& path) {
  fs::path plain = fs::path(path).lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  const std::string name = plain.filename().string();
  return name.empty() || name == "." || name == ".." ? path : name;
}

}  // namespace

std::vector<SuiteRecord> read_suites(const std::vector<std::string>& paths) {
  std::set<fs::path> plans;
  for (const std::string& path : paths) plans.merge(plans_below(path));
  std::vector<SuiteRecord> suites;
  std::ranges::transform(plans, std::back_inserter(suites), read_suite);
  return suites;
}

bool is_noise_file(const std::string& path) {
  return has_schema(path, "dlscale.noise");
}

std::vector<report::NoiseFinding> read_noise(const std::vector<std::string>& paths) {
  std::vector<report::NoiseFinding> findings;
  for (const std::string& path : paths) {
    for (const fs::path& file : {fs::path(path), fs::path(path) / "noise.json"}) {
      if (is_noise_file(file.string())) findings.push_back(noise_of(file));
    }
  }
  return findings;
}

std::string gate_file(const std::string& path) {
  for (const fs::path& file : {fs::path(path), fs::path(path) / "gate.json"}) {
    if (has_schema(file, "dlscale.gate")) return file.string();
  }
  return "";
}

/// Whether `dlscale noise` wrote the folder: its rounds are no results to report on.
bool is_noise_folder(const fs::path& path) {
  return has_schema(path / "noise.json", "dlscale.noise") &&
         has_schema(path / "rounds.jsonl", "dlscale.rounds");
}

std::vector<std::string> measured_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> measured;
  std::ranges::remove_copy_if(paths, std::back_inserter(measured), [](const std::string& path) {
    return is_prediction_file(path) || is_noise_file(path) || is_noise_folder(path);
  });
  return measured;
}

std::vector<report::ResultSource> read_sources(const std::vector<std::string>& paths) {
  std::vector<report::ResultSource> sources;
  for (const std::string& path : paths) {
    const auto same = std::ranges::count(paths, last_part(path), last_part);
    report::ResultSource source{same > 1 ? path : last_part(path), {}, {}};
    if (is_prediction_file(path)) {
      source.predicted = report::predictions_of(read_input(path, "Check the path."), path);
    } else {
      source.results = all_results({path});
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

void add_side_by_side(report::ReportInput& input, const std::vector<std::string>& paths) {
  const auto is_source = [](const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error) || is_prediction_file(path);
  };
  if (std::ranges::count_if(paths, is_source) < 2) return;
  report::SideBySide all = report::side_by_side(read_sources(paths));
  if (!all.rows.empty()) input.side_by_side = std::move(all);
}

}  // namespace dlscale::app
