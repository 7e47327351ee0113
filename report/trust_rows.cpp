#include "report/trust_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/statistics.hpp"
#include "report/numbers.hpp"
#include "report/suite_record.hpp"
#include "report/trust_section.hpp"
#include "report/validation_table.hpp"

namespace dlscale::report {
namespace {

/// How much longer fixed work may take than at the machine's best (docs/RESULTS.md, "A quiet
/// machine").
constexpr double quiet_tolerance = 0.08;

/// nvmlClocksEventReason… of the NVML API Reference Guide: a limit of power is how a GPU works
/// under load; slowdowns, sync boost, limits of temperature and brakes are not.
constexpr std::uint64_t power_limit = 0x04;
constexpr std::uint64_t slowdowns = 0x08 | 0x10 | 0x20 | 0x40 | 0x80;

TrustRow good(std::string what, std::string seen, std::string means) {
  return {std::move(what), "ok", std::move(seen), std::move(means), Tone::good};
}
TrustRow look(std::string what, std::string seen, std::string means) {
  return {std::move(what), "look", std::move(seen), std::move(means), Tone::caution};
}
TrustRow bad(std::string what, std::string seen, std::string means) {
  return {std::move(what), "bad", std::move(seen), std::move(means), Tone::bad};
}
TrustRow not_known(std::string what, std::string seen, std::string means) {
  return {std::move(what), "not known", std::move(seen), std::move(means), Tone::caution};
}

template <class Visit>
void for_each_row(const ReportInput& input, Visit visit) {
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) visit(row);
  }
}

/// The bits that any reading of a row has.
std::optional<std::uint64_t> throttle_bits(const Measurement& row) {
  const auto found = row.series.find("throttle_reasons");
  if (found == row.series.end()) return std::nullopt;
  constexpr double most = 9007199254740992.0;  // up to which a double holds every whole number
  std::uint64_t bits = 0;
  for (const auto& rank : found->second.samples) {
    for (const double reading : rank) {
      if (reading >= 0 && reading < most) bits |= static_cast<std::uint64_t>(reading);
    }
  }
  return bits;
}

/// The least and the greatest time that the same fixed work took beside a row.
std::optional<std::pair<double, double>> witness_of(const Measurement& row) {
  const auto found = row.series.find("witness");
  if (found == row.series.end()) return std::nullopt;
  std::pair<double, double> range{std::numeric_limits<double>::infinity(), 0};
  for (const auto& rank : found->second.samples) {
    for (const double time : rank) {
      range.first = std::min(range.first, time);
      range.second = std::max(range.second, time);
    }
  }
  return range.second > 0 ? std::optional(range) : std::nullopt;
}

/// "Linux's" load average of the last minute; nothing where the text does not begin with one.
std::optional<double> load_of(const std::string& text) {
  double load = 0;
  if (std::istringstream(text) >> load && std::isfinite(load)) return load;
  return std::nullopt;
}

/// "governor unknown, turbo on": the values that files have of a property.
std::string values_text(const std::string& name, const std::set<std::string>& values) {
  return fmt::format("{} {}", name, fmt::join(values, " or "));
}

}  // namespace

TrustRow validity_row(const ReportInput& input) {
  const std::string what = "Validity";
  std::map<Status, long long> counts;
  for_each_row(input, [&](const Measurement& row) { ++counts[row.status]; });
  long long all = 0;
  std::vector<std::string> parts;
  for (const auto& [status, count] : counts) {
    all += count;
    parts.push_back(fmt::format("{} {}", count, status_name(status)));
  }
  std::string seen = counted(all, "measurement");
  if (!parts.empty()) seen += fmt::format(": {}", fmt::join(parts, ", "));
  const auto cut = std::ranges::count(input.results, false, &ResultFile::complete);
  if (cut > 0) seen += fmt::format("; {} of {} files end early", cut, input.results.size());
  long long failed = 0;
  long long left = 0;
  for (const SuiteRecord& suite : input.suites) {
    for (const CellOutcome& cell : suite.cells) {
      failed += cell.is_fine ? 0 : 1;
      left += cell.status == "left" ? 1 : 0;
    }
  }
  if (failed > 0) seen += fmt::format("; {} failed", counted(failed, "cell"));
  if (left > 0) seen += fmt::format("; {} left to be carried out", counted(left, "cell"));
  if (all == 0) return bad(what, seen, "there is no number on this page");
  if (counts[Status::wrong] > 0 || failed > 0) {
    return bad(what, seen, "what is wrong or failed has no time here; the tables below say why");
  }
  if (counts[Status::unstable] + counts[Status::interrupted] + cut + left > 0) {
    return look(what, seen,
                "of unstable ones the interval is wider than was asked for; they count with their "
                "medians, what was interrupted does not");
  }
  return good(what, seen, "each met its stopping criterion, or says why it cannot be measured");
}

TrustRow answers_row(const ReportInput& input) {
  const std::string what = "Answers";
  long long checked = 0;
  long long timed = 0;
  double worst = 0;
  for_each_row(input, [&](const Measurement& row) {
    if (row.series.empty()) return;
    ++timed;
    if (!row.max_relative_error) return;
    ++checked;
    worst = std::max(worst, *row.max_relative_error);
  });
  long long unchecked = 0;
  for (const ResultFile& file : input.results) {
    const auto check = file.header.run.find("check");
    unchecked += check != file.header.run.end() && check->second == "no" ? 1 : 0;
  }
  std::string seen = fmt::format("{} of {} with times were held against a reference", checked,
                                 counted(timed, "measurement"));
  if (checked > 0) seen += fmt::format(", the largest relative error is {}", scientific(worst));
  if (unchecked > 0) {
    return look(what, seen + fmt::format("; {} with --check no", counted(unchecked, "file")),
                "a speed of a wrong answer would stand here like any other");
  }
  if (checked == 0) {
    return {what, "not compared", seen,
            "trainings and messages check themselves while they run (a wrong sum ends them)",
            Tone::plain};
  }
  return good(what, seen, "a wrong answer has no time");
}

TrustRow prediction_row(const ReportInput& input) {
  const std::string what = "Error of the model";
  if (!input.trained || input.validation.summaries.empty()) {
    return {what, "none",
            input.kernels ? "no training is predicted here; how far models of convolutions are off "
                            "stands in their section"
                          : "nothing is predicted on this page",
            "predictions need the machine file of dlscale calibrate", Tone::plain};
  }
  const ErrorSummary& all = input.validation.summaries.front();
  const std::string seen =
      fmt::format("the iteration of {}: {} in the median, within {} for 90 %, bias {}",
                  counted(all.runs, "run"), percent(all.median_abs), percent(all.p90_abs),
                  signed_percent(all.bias));
  const ExitCode code = exit_code(input.validation, input.limits);
  if (code == ExitCode::regression) {
    return bad(what, seen, "beyond the limits: predictions of other runs are off as much or more");
  }
  if (code == ExitCode::inconclusive) {
    return look(what, seen, "some measurements could not be judged");
  }
  return good(what, seen, "within the limits, for runs such as these; farther away nobody looked");
}

TrustRow canary_row(const ReportInput& input) {
  const std::string what = "Canary";
  long long calls = 0;
  long long alarms = 0;
  for (const SuiteRecord& suite : input.suites) {
    for (const CanaryOutcome& canary : suite.canaries) {
      ++calls;
      alarms += canary.is_stable ? 0 : 1;
    }
  }
  if (calls == 0) {
    return not_known(what, "not taken", "dlscale run takes it of suites of cells");
  }
  const std::string seen =
      fmt::format("a kernel beside itself: {} of {} alarmed", alarms, counted(calls, "call"));
  if (alarms > 0) {
    return bad(what, seen, "the machine did not tell like from like: compare with care");
  }
  return good(what, seen, "the machine told like from like when each call began and ended");
}

TrustRow disturbed_row(const ReportInput& input) {
  const std::string what = "Disturbed rows";
  long long looked = 0;
  long long disturbed = 0;
  for (const ResultFile& file : input.results) {
    double best = std::numeric_limits<double>::infinity();
    for (const Measurement& row : file.measurements) {
      if (const auto witness = witness_of(row)) best = std::min(best, witness->first);
    }
    for (const Measurement& row : file.measurements) {
      const auto witness = witness_of(row);
      if (!witness) continue;
      ++looked;
      disturbed += witness->second > (1 + quiet_tolerance) * best ? 1 : 0;
    }
  }
  if (looked == 0) {
    return not_known(what, "no row says how fast fixed work was beside it",
                     "--wait-quiet SECONDS measures while the machine is quiet, and tells");
  }
  const std::string seen =
      fmt::format("beside {} of {} fixed work took more than {} longer than at best", disturbed,
                  counted(looked, "row"), percent(quiet_tolerance));
  if (disturbed > 0) return look(what, seen, "these rows are slower than the machine is");
  return good(what, seen, "nobody else slowed the processor while rows were measured");
}

TrustRow throttling_row(const ReportInput& input) {
  const std::string what = "Throttling";
  long long read = 0;
  long long slowed = 0;
  long long limited = 0;
  for_each_row(input, [&](const Measurement& row) {
    const auto bits = throttle_bits(row);
    if (!bits) return;
    ++read;
    slowed += (*bits & slowdowns) != 0 ? 1 : 0;
    limited += (*bits & power_limit) != 0 ? 1 : 0;
  });
  long long cells = 0;
  long long hot = 0;
  for (const SuiteRecord& suite : input.suites) {
    for (const CellOutcome& cell : suite.cells) {
      if (cell.started.empty()) continue;
      ++cells;
      hot += cell.slowed_by_heat > 0 || cell.status == "throttled" ? 1 : 0;
    }
  }
  std::vector<std::string> parts;
  if (read > 0) {
    parts.push_back(
        fmt::format("of {} read from GPUs {} were slowed by heat or a brake, {} at the "
                    "limit of power",
                    counted(read, "row"), slowed, limited));
  }
  if (cells > 0) parts.push_back(fmt::format("{} of {} throttled", hot, counted(cells, "cell")));
  if (parts.empty()) {
    return not_known(what, "not recorded of these processors",
                     "suites of cells count it, where the kernel does; of GPUs every row tells");
  }
  const std::string seen = fmt::format("{}", fmt::join(parts, "; "));
  if (slowed + hot > 0) return look(what, seen, "times of these are of a slower device");
  return good(what, seen, "a limit of power is how GPUs work under load");
}

TrustRow load_row(const ReportInput& input) {
  const std::string what = "Load";
  double most = -1;
  long long busy = 0;
  for (const ResultFile& file : input.results) {
    const auto load = load_of(file.header.environment.load);
    if (!load) continue;
    most = std::max(most, *load);
    busy += *load >= std::max(1, file.header.environment.cores) ? 1 : 0;
  }
  if (most < 0) return not_known(what, "not recorded", "results of this version have it");
  const std::string seen = fmt::format(
      "when files were begun at most {:.2f} threads ran or waited on average (1 minute); "
      "as many as cores in {} of {}",
      most, busy, counted(static_cast<long long>(input.results.size()), "file"));
  if (busy > 0) {
    return look(what, seen,
                "others may have run beside them; what was measured just before counts, too");
  }
  return good(what, seen, "fewer threads than cores, what was measured just before included");
}

TrustRow build_row(const ReportInput& input) {
  const std::string what = "Build";
  std::set<std::string> commits;
  std::set<std::string> slow;
  bool dirty = false;
  for (const ResultFile& file : input.results) {
    const Environment& environment = file.header.environment;
    const std::string commit =
        environment.commit.empty() ? "unknown" : environment.commit.substr(0, 12);
    commits.insert(commit + (environment.dirty ? " with local changes" : ""));
    dirty = dirty || environment.dirty;
    const std::string flags = environment.flags + " ";
    if (flags.find("-fsanitize") != std::string::npos) slow.insert("with sanitizers");
    const bool optimised =
        flags.find("-O1") != std::string::npos || flags.find("-O2") != std::string::npos ||
        flags.find("-O3") != std::string::npos || flags.find("-Ofast") != std::string::npos;
    if (!environment.flags.empty() && !optimised) slow.insert("without optimisation");
  }
  std::string seen = fmt::format("commit {}", fmt::join(commits, ", "));
  if (!slow.empty()) {
    return bad(what, fmt::format("{}, built {}", seen, fmt::join(slow, " and ")),
               "its own loops are slower than they need be; libraries are not");
  }
  if (dirty) return look(what, seen, "nobody else can build what was measured");
  if (commits.contains("unknown")) {
    return not_known(what, seen,
                     "built outside of a git repository: nobody can tell of which source");
  }
  if (commits.size() > 1) return look(what, seen, "numbers of several versions stand side by side");
  return good(what, seen, "one version, without local changes, optimised");
}

TrustRow settings_row(const ReportInput& input) {
  const std::string what = "Settings of the machine";
  std::map<std::string, std::set<std::string>> values;
  for (const ResultFile& file : input.results) {
    const Environment& environment = file.header.environment;
    values["governor"].insert(environment.governor.empty() ? "unknown" : environment.governor);
    for (const char* name : {"turbo", "random_addresses", "smt", "clocks"}) {
      const auto found = environment.facts.find(name);
      const bool told =
          found != environment.facts.end() && !found->second.starts_with("unavailable");
      values[name].insert(told ? found->second : "unknown");
    }
  }
  if (values.empty()) return not_known(what, "no result file", "measure first");
  std::vector<std::string> parts;
  for (const auto& [name, all] : values) parts.push_back(values_text(name, all));
  const std::string seen = fmt::format("{}", fmt::join(parts, "; "));
  const std::set<std::string> held{"performance"};
  if (values["governor"] == held) {
    return good(what, seen,
                "clocks are asked to stay up; what turbo adds comes and goes with heat");
  }
  if (values["governor"].contains("unknown")) {
    return not_known(what, seen, "virtual machines do not tell how their clocks change");
  }
  return look(what, seen, "clocks follow the load: the first samples may be slower than the last");
}

TrustRow differences_row(const ReportInput& input) {
  const std::string what = "Differences between files";
  if (input.results.size() < 2) {
    return {what, "one file", "there is nothing to differ", "", Tone::plain};
  }
  const auto differences = environment_differences(input.results);
  if (differences.empty()) {
    return good(what,
                fmt::format("none in the environments of {}",
                            counted(static_cast<long long>(input.results.size()), "file")),
                "their numbers may be compared");
  }
  std::vector<std::string> names;
  for (const EnvironmentDifference& each : differences) names.push_back(each.property);
  return look(what, fmt::format("{}", fmt::join(names, ", ")),
              "the table of environments says which file has what");
}

TrustRow unknown_row(const ReportInput& input) {
  const std::string what = "What was not recorded";
  const auto without = std::ranges::count_if(
      input.results, [](const ResultFile& file) { return file.header.environment.facts.empty(); });
  const auto unread = unread_facts(input.results);
  std::vector<std::string> parts;
  if (without > 0) {
    parts.push_back(fmt::format("{} of {} files are of a version that kept no facts of the machine",
                                without, input.results.size()));
  }
  if (!unread.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, reasons] : unread) names.push_back(name);
    parts.push_back(fmt::format("could not be read: {}", fmt::join(names, ", ")));
  }
  if (parts.empty()) return good(what, "nothing", "all facts that are looked for are there");
  return not_known(what, fmt::format("{}", fmt::join(parts, "; ")),
                   "what nobody recorded may differ without that this page could tell");
}

}  // namespace dlscale::report
