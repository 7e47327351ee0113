#include "report/sections/quality.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "report/results/result_table.hpp"

namespace dlscale::report {
namespace {

using enum QualityKind;
using enum QualityResult;

/// Tolerated slowdown of the fixed work over its best time (docs/reference/results, "A quiet
/// machine").
constexpr double quiet_tolerance = 0.08;
/// Above this noise, differences of a few percent between two rows are not significant.
constexpr double much_noise = 0.05;
/// Slowdowns, sync boost, temperature limits and brakes: nvmlClocksEventReason… of the NVML API
/// Reference Guide. A power limit (0x04) is normal under load.
constexpr std::uint64_t slowdowns = 0x08 | 0x10 | 0x20 | 0x40 | 0x80;

template <class Visit>
void for_each_row(const ReportInput& input, Visit visit) {
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) visit(file, row);
  }
}

template <class Visit>
void for_each_cell(const ReportInput& input, Visit visit) {
  for (const SuiteRecord& suite : input.suites) {
    for (const CellOutcome& cell : suite.cells) visit(cell);
  }
}

/// All samples of a series, of every rank; empty if the row lacks the series.
std::vector<double> samples_of(const Measurement& row, const std::string& name) {
  const auto found = row.series.find(name);
  if (found == row.series.end()) return {};
  std::vector<double> all;
  for (const auto& rank : found->second.samples) all.insert(all.end(), rank.begin(), rank.end());
  return all;
}

/// Whether the page judges predictions by trainings.
bool is_validation(const ReportInput& input) {
  return input.trained && !input.validation.runs.empty();
}

QualityCheck validity_check(const ReportInput& input) {
  QualityCheck check{validity};
  const bool judges = is_validation(input);
  auto& numbers = check.numbers;
  for_each_row(input, [&](const ResultFile&, const Measurement& row) {
    // A validation judges trainings, and their parts only count by the machine file.
    if (judges && row.benchmark != "e2e" && row.status != Status::wrong) return;
    ++numbers[judges && row.benchmark == "e2e" ? "trainings" : "measurements"];
    ++numbers[std::string(status_name(row.status))];
  });
  if (judges && check.any({"unstable"})) {
    ++numbers[is_certain(input.validation, input.limits) ? "certain" : "open"];
  }
  for (const ResultFile& file : input.results) numbers["incomplete"] += file.complete ? 0 : 1;
  for_each_cell(input, [&](const CellOutcome& cell) {
    numbers["failed"] += cell.is_fine ? 0 : 1;
    numbers["left"] += cell.status == "left" ? 1 : 0;
  });
  const bool partial = check.any({"unstable", "interrupted", "incomplete", "left"});
  const bool mostly_unstable = 2 * check.number("unstable") > check.number("trainings");
  const bool invalid = !check.any({"measurements", "trainings"}) ||
                       check.any({"wrong", "failed"}) || (check.any({"open"}) && mostly_unstable);
  check.result = invalid ? fail : partial ? warn : pass;
  return check;
}

QualityCheck answers_check(const ReportInput& input) {
  QualityCheck check{answers};
  for_each_row(input, [&](const ResultFile&, const Measurement& row) {
    if (row.series.empty() || !row.max_relative_error) return;
    ++check.numbers["checked"];
    double& worst = check.numbers["error"];
    worst = std::max(worst, *row.max_relative_error);
  });
  for (const ResultFile& file : input.results) {
    const auto found = file.header.run.find("check");
    if (found != file.header.run.end() && found->second == "no") ++check.numbers["unchecked"];
  }
  if (check.any({"unchecked"})) check.result = warn;
  return check;
}

QualityCheck canary_check(const ReportInput& input) {
  QualityCheck check{canary};
  for (const SuiteRecord& suite : input.suites) {
    for (const CanaryOutcome& each : suite.canaries) {
      ++check.numbers["calls"];
      check.numbers["alarms"] += each.is_stable ? 0 : 1;
    }
  }
  if (check.any({"alarms"})) check.result = fail;
  return check;
}

/// Counts rows with a witness, and those with a slow one, relative to the best of the file.
void count_witnesses(const ResultFile& file, QualityCheck& check) {
  std::vector<double> worst;
  double best = INFINITY;
  for (const Measurement& row : file.measurements) {
    const std::vector<double> times = samples_of(row, "witness");
    if (times.empty()) continue;
    best = std::min(best, std::ranges::min(times));
    worst.push_back(std::ranges::max(times));
  }
  const auto slow = std::ranges::count_if(
      worst, [best](double time) { return time > (1 + quiet_tolerance) * best; });
  check.numbers["rows"] += static_cast<double>(worst.size());
  check.numbers["slow rows"] += static_cast<double>(slow);
}

bool is_throttled(const std::vector<double>& readings) {
  return std::ranges::any_of(readings, [](double reading) {
    return holds_bits(reading) && (static_cast<std::uint64_t>(reading) & slowdowns) != 0;
  });
}

QualityCheck slowdown_check(const ReportInput& input) {
  QualityCheck check{slowdown};
  auto& numbers = check.numbers;
  for (const ResultFile& file : input.results) count_witnesses(file, check);
  for_each_row(input, [&](const ResultFile&, const Measurement& row) {
    const std::vector<double> readings = samples_of(row, "throttle_reasons");
    if (readings.empty()) return;
    ++numbers["GPU rows"];
    numbers["throttled rows"] += is_throttled(readings) ? 1 : 0;
  });
  for_each_cell(input, [&](const CellOutcome& cell) {
    if (cell.started.empty()) return;
    ++numbers["cells"];
    numbers["throttled cells"] += cell.slowed_by_heat > 0 || cell.status == "throttled" ? 1 : 0;
  });
  if (check.any({"slow rows", "throttled rows", "throttled cells"})) check.result = warn;
  return check;
}

/// The main times of a row; nullptr if it has none.
const Series* times_of(const Measurement& row) {
  if (!is_timed(row)) return nullptr;
  const auto found = row.series.find(row.benchmark == "e2e" ? "t_iter" : "time");
  if (found == row.series.end() || found->second.unit != "s") return nullptr;
  return found->second.summary.median > 0 ? &found->second : nullptr;
}

/// The median and the 90 % quantile of relative spreads.
QualityCheck spread_check(QualityKind kind, const std::vector<double>& spreads) {
  if (spreads.empty()) return {kind};
  const double middle = median(spreads);
  return {kind,
          middle < much_noise ? pass : warn,
          {{"count", static_cast<double>(spreads.size())},
           {"median", middle},
           {"p90", quantile(spreads, 0.9)}}};
}

/// Checks half the 95 % interval of each median; fewer than 6 samples do not give one.
QualityCheck noise_check(const ReportInput& input) {
  constexpr std::size_t least = 6;
  std::vector<double> spreads;
  for_each_row(input, [&](const ResultFile&, const Measurement& row) {
    const Series* times = times_of(row);
    if (times == nullptr || times->summary.n < least) return;
    spreads.push_back(relative_half_width(times->summary));
  });
  return spread_check(noise, spreads);
}

/// Checks the range of the medians of each question that one version measured repeatedly on one
/// host.
QualityCheck repeats_check(const ReportInput& input) {
  std::map<std::string, std::vector<double>> medians;  // by question
  for_each_row(input, [&](const ResultFile& file, const Measurement& row) {
    const Series* times = times_of(row);
    if (times == nullptr) return;
    Measurement question;
    question.benchmark = row.benchmark;
    question.axes = row.axes;
    question.axes.erase("repeat");
    const Environment& environment = file.header.environment;
    medians[environment.host_hash + " " + environment.commit + " " + question.key()].push_back(
        times->summary.median);
  });
  std::vector<double> spreads;
  for (const auto& [question, values] : medians) {
    if (values.size() < 2) continue;
    const auto [low, high] = std::ranges::minmax(values);
    spreads.push_back((high - low) / median(values));
  }
  return spread_check(repeats, spreads);
}

/// Counts what differs between builds of the files, beside their commits.
void count_builds(const ReportInput& input, std::map<std::string, double, std::less<>>& numbers) {
  std::set<std::string> compilers;
  std::set<std::string> flags;
  std::map<std::string, std::set<std::string>> libraries;
  for (const ResultFile& file : input.results) {
    const Environment& environment = file.header.environment;
    if (!environment.compiler.empty()) compilers.insert(environment.compiler);
    if (!environment.flags.empty()) flags.insert(environment.flags);
    for (const auto& [name, version] : environment.libraries) {
      // One rank needs no communicator, so builds do not differ in it.
      if (name != "communicator" && !version.empty()) libraries[name].insert(version);
    }
  }
  if (compilers.size() > 1) numbers["compilers"] = static_cast<double>(compilers.size());
  if (flags.size() > 1) numbers["flags"] = static_cast<double>(flags.size());
  numbers["libraries"] = static_cast<double>(std::ranges::count_if(
      libraries, [](const auto& library) { return library.second.size() > 1; }));
}

QualityCheck build_check(const ReportInput& input) {
  QualityCheck check{build};
  auto& numbers = check.numbers;
  std::set<std::string> commits;
  for (const ResultFile& file : input.results) {
    const Environment& environment = file.header.environment;
    const auto has = [&](const char* flag) {
      return environment.flags.find(flag) != std::string::npos;
    };
    const bool optimised = has("-O1") || has("-O2") || has("-O3") || has("-Ofast");
    if (!environment.commit.empty()) commits.insert(environment.commit);
    numbers["unknown"] += environment.commit.empty() ? 1 : 0;
    numbers["dirty"] += environment.dirty ? 1 : 0;
    numbers["sanitized"] += has("-fsanitize") ? 1 : 0;
    numbers["unoptimised"] += !environment.flags.empty() && !optimised ? 1 : 0;
  }
  numbers["commits"] = static_cast<double>(commits.size());
  count_builds(input, numbers);
  if (commits.size() > 1 || check.any({"compilers", "flags", "libraries", "unknown", "dirty"})) {
    check.result = warn;
  }
  if (check.any({"sanitized", "unoptimised"})) check.result = fail;
  return check;
}

/// Form of a number in a sentence.
struct Phrase {
  QualityKind kind;
  std::string_view number;
  std::string_view unit;  ///< a noun to count, "%", "1" or "e" (of a power of ten)
  std::string_view text;  ///< with the number in place of {}
};

constexpr std::array phrases{
    Phrase{validity, "trainings", "training", "{}"},
    Phrase{validity, "measurements", "measurement", "{}"},
    Phrase{validity, "ok", "1", "{} ok"},
    Phrase{validity, "unstable", "1", "{} unstable"},
    Phrase{validity, "certain", "1", "which leaves the answer as it is"},
    Phrase{validity, "open", "1", "which may change the answer"},
    Phrase{validity, "unsupported", "1", "{} unsupported"},
    Phrase{validity, "wrong", "1", "{} wrong"},
    Phrase{validity, "interrupted", "1", "{} interrupted"},
    Phrase{validity, "incomplete", "file", "{} incomplete"},
    Phrase{validity, "failed", "cell", "{} failed"},
    Phrase{validity, "left", "cell", "{} not run yet"},
    Phrase{answers, "checked", "measurement", "{} compared with a reference"},
    Phrase{answers, "error", "e", "largest relative error {}"},
    Phrase{answers, "unchecked", "file", "{} measured without a check"},
    Phrase{canary, "calls", "call", "identical kernels compared at {}"},
    Phrase{canary, "alarms", "call", "different at {}"},
    Phrase{slowdown, "rows", "row", "{} with fixed work beside"},
    Phrase{slowdown, "slow rows", "row", "slower by more than 8 % beside {}"},
    Phrase{slowdown, "GPU rows", "row", "{} of GPUs"},
    Phrase{slowdown, "throttled rows", "row", "{} throttled"},
    Phrase{slowdown, "cells", "cell", "{}"},
    Phrase{slowdown, "throttled cells", "cell", "{} throttled"},
    Phrase{noise, "count", "measurement", "{}"},
    Phrase{noise, "median", "%", "half the 95 % interval of the median: {} typically"},
    Phrase{noise, "p90", "%", "{} for the worst tenth"},
    Phrase{repeats, "count", "measurement", "{} made several times"},
    Phrase{repeats, "median", "%", "whose times differ by {} typically"},
    Phrase{repeats, "p90", "%", "{} for the worst tenth"},
    Phrase{build, "commits", "commit", "{}"},
    Phrase{build, "compilers", "compiler", "{}"},
    Phrase{build, "flags", "1", "{} sets of compiler flags"},
    Phrase{build, "libraries", "1", "{} of the libraries in several versions"},
    Phrase{build, "unknown", "file", "{} without a commit"},
    Phrase{build, "dirty", "file", "{} built with local changes"},
    Phrase{build, "sanitized", "file", "{} built with sanitizers"},
    Phrase{build, "unoptimised", "file", "{} built without optimisation"},
};

std::string text_of(const Phrase& phrase, double number) {
  const auto text = [&]() -> std::string {
    if (phrase.unit == "%") return percent(number);
    if (phrase.unit == "e") return scientific(number);
    if (phrase.unit == "1") return fmt::format("{:g}", number);
    return counted(std::llround(number), std::string(phrase.unit));
  }();
  return fmt::format(fmt::runtime(phrase.text), text);
}

constexpr std::array quality_tones{Tone::good, Tone::caution, Tone::bad};

/// "82 of 90 trainings are unstable, which may change the answer": the doubts on validity alone.
std::string validity_doubts(const QualityCheck& check) {
  const double all =
      check.number("trainings") + check.number("measurements") - check.number("unsupported");
  const char* noun = check.any({"trainings"}) ? "training" : "measurement";
  std::vector<std::string> doubts;
  for (const char* status : {"unstable", "wrong", "interrupted"}) {
    const double number = check.number(status);
    if (number == 0) continue;
    doubts.push_back(doubts.empty()
                         ? fmt::format("{:g} of {} {} {}", number, counted(std::llround(all), noun),
                                       number == 1 ? "is" : "are", status)
                         : fmt::format("{:g} {}", number, status));
  }
  constexpr std::array<std::string_view, 5> further{"certain", "open", "incomplete", "failed",
                                                    "left"};
  for (const Phrase& phrase : phrases) {
    const double number = check.number(phrase.number);
    const bool is_further = std::ranges::find(further, phrase.number) != further.end();
    if (is_further && number > 0) doubts.push_back(text_of(phrase, number));
  }
  return doubts.empty() ? sentence(check) : fmt::format("{}", fmt::join(doubts, ", "));
}

std::string title_of(const QualityCheck& check) {
  constexpr std::array<std::string_view, 7> titles{"validity", "answers", "A/A test", "slowdown",
                                                   "noise",    "repeats", "build"};
  return std::string(titles.at(static_cast<std::size_t>(check.kind)));
}

}  // namespace

std::vector<QualityCheck> quality_checks(const ReportInput& input) {
  std::vector<QualityCheck> checks{
      validity_check(input), answers_check(input), canary_check(input), slowdown_check(input),
      noise_check(input),    repeats_check(input), build_check(input)};
  std::erase_if(checks, [](const QualityCheck& check) {
    const auto is_zero = [](const auto& number) { return number.second == 0; };
    return check.kind != validity && std::ranges::all_of(check.numbers, is_zero);
  });
  return checks;
}

double QualityCheck::number(std::string_view name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

bool QualityCheck::any(std::initializer_list<std::string_view> names) const {
  return std::ranges::any_of(names, [this](std::string_view name) { return number(name) > 0; });
}

std::string sentence(const QualityCheck& check) {
  std::vector<std::string> parts;
  for (const Phrase& phrase : phrases) {
    const double number = check.number(phrase.number);
    if (phrase.kind == check.kind && number > 0) parts.push_back(text_of(phrase, number));
  }
  return parts.empty() ? "nothing measured" : fmt::format("{}", fmt::join(parts, ", "));
}

Badge quality_badge(const ReportInput& input) {
  constexpr std::array badges{good_data, usable_data, doubtful_data};
  const std::vector<QualityCheck> checks = quality_checks(input);
  const QualityCheck& worst = *std::ranges::max_element(checks, {}, &QualityCheck::result);
  const auto such = std::ranges::count(checks, worst.result, &QualityCheck::result);
  std::string reasons = fmt::format("all of {} passed", counted(std::ssize(checks), "check"));
  if (worst.result != pass) {
    reasons = worst.kind == validity ? validity_doubts(worst)
                                     : fmt::format("{}: {}", title_of(worst), sentence(worst));
    if (such > 1) {
      reasons += fmt::format("; {} {} too", counted(such - 1, "further check"),
                             such == 2 ? (worst.result == warn ? "warns" : "fails")
                                       : (worst.result == warn ? "warn" : "fail"));
    }
  }
  return badges.at(static_cast<std::size_t>(worst.result))(reasons + ".");
}

Section quality_section(const ReportInput& input) {
  constexpr std::array<std::string_view, 3> words{"pass", "warn", "fail"};
  const std::vector<QualityCheck> checks = quality_checks(input);
  Table table;
  table.title = counted(std::ssize(checks), "check");
  table.columns = {{"check", Align::left}, {"result", Align::left}, {"found", Align::left}};
  for (const QualityCheck& check : checks) {
    const auto result = static_cast<std::size_t>(check.result);
    table.rows.push_back({{title_of(check)},
                          {std::string(words.at(result)), quality_tones.at(result)},
                          {sentence(check)}});
  }
  Section section{"quality", "Quality of the measurements", {std::move(table)}};
  for (const NoiseFinding& finding : input.noise) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("Smallest detectable change: {} ({}, {}).", finding.sentence,
                              finding.machine, finding.date)});
  }
  return section;
}

}  // namespace dlscale::report
