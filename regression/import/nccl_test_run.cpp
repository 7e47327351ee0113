#include "regression/import/nccl_test_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

/// Largest error that nccl-tests before 2.13 accepts of each rank beyond the first (DeltaMaxValue
/// in src/common.cu).
double error_limit(std::string_view type) {
  if (type == "half" || type == "bfloat16") return 1e-2;
  if (type == "float") return 1e-5;
  return type == "double" ? 1e-12 : 0;
}

/// One of the ways to wait between collectives. Its words differ between versions; a barrier after
/// each collective is as old as the option.
std::string blocking_of(std::string_view words) {
  const auto has = [words](std::string_view part) {
    return words.find(part) != std::string_view::npos;
  };
  if (has("no barrier")) return "no barrier";
  if (has("outer iteration")) return "outer iterations";
  if (has("barrier")) return "yes";
  words.remove_prefix(std::min(words.find_first_not_of(": "), words.size()));
  return std::string(words.substr(0, words.find_last_not_of(' ') + 1));
}

std::string value_of(const Facts& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

/// The number of a rank; nothing if no launch has so many.
std::optional<int> rank_in(const std::string& word) {
  constexpr int most = 1'000'000;
  int rank = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
  if (error != std::errc{} || rank > most) return std::nullopt;
  return rank;
}

/// A number of wrong elements as it is written, or without decimals that say nothing.
std::string places_text(double count, const std::string& cell) {
  constexpr double most_digits = 1e15;
  if (count == std::floor(count) && count < most_digits) {
    return counted(std::llround(count), "place");
  }
  return escape_for_terminal(cell) + " places";
}

/// The number of a cell, also if the text marks or spells it oddly; nothing if it has none.
std::optional<double> number_in(const std::string& cell) {
  try {
    return printed_number(cell, "");
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

NcclTest::NcclTest() {
  key_.suite = "nccl-tests";
}

std::string NcclTest::name() const {
  return has_name() ? key_.axes.at("collective") : "the test";
}

void NcclTest::read_versions(const std::vector<std::string>& words) {
  part_ = Part::version;
  if (words.size() > 2 && words[2].find('=') == std::string::npos) {
    key_.environment[words[0]] = words[2];
  }
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      key_.environment[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
}

void NcclTest::read_name(std::string_view program) {
  part_ = Part::name;
  program = program.substr(program.find_last_of("/\\") + 1);
  for (const std::string_view ending : {".exe", "_mpi", "_perf"}) {
    if (program.ends_with(ending)) program.remove_suffix(ending.size());
  }
  // Libtool's name of a program that is not installed.
  constexpr std::string_view uninstalled = "lt-";
  if (program.starts_with(uninstalled)) program.remove_prefix(uninstalled.size());
  key_.axes["collective"] = std::string(program);
}

/// A program may be renamed or of a fork, and then its name says nothing of the collective.
void NcclTest::doubt_name(const RunOptions& options) {
  if (!has_name() || rows_ == 0 || options.axes.contains("collective")) return;
  if (nccl_program(name()) != nullptr) return;
  note(fmt::format(
      "{} is not a program of nccl-tests, so the collective is not sure; state its axis "
      "collective=all_reduce",
      quoted_line(name())));
}

void NcclTest::read_settings(const std::vector<std::string>& words) {
  part_ = Part::settings;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "nThread") key_.launch["threads"] = words[i + 1];
    if (words[i] == "nGpus") key_.launch["gpus_per_thread"] = words[i + 1];
    // An event in each timed iteration costs time (-I 1, since 2.19).
    const bool is_timed = words[i] == "timing:" && words[i + 1] != "0" && words[i + 1] != "false";
    if (is_timed) key_.axes["per_iteration_timing"] = "yes";
    if (words[i] == "graph:" && words[i + 1] != "0") key_.axes["graph"] = words[i + 1];
    if (words[i] == "unalign:" && words[i + 1] != "0") key_.axes["unalign"] = words[i + 1];
    if (words[i] != "iters:" || i == 0) continue;
    if (words[i - 1] == "agg" && words[i + 1] != "1") key_.axes["aggregated"] = words[i + 1];
  }
}

void NcclTest::read_blocking(std::string_view line) {
  constexpr std::string_view title = "Blocking Enabled";
  key_.axes["blocking"] = blocking_of(line.substr(line.find(title) + title.size()));
}

void NcclTest::read_rank(std::string_view line, const std::vector<std::string>& words) {
  part_ = Part::ranks;
  const std::optional<int> rank = rank_in(words[1]);
  if (!rank) return cut_ranks();
  if (!ranks_.insert(*rank).second) {
    throw ConfigError(fmt::format(
        "rank {} is there twice, so processes ran by themselves that should have been one "
        "collective. Build nccl-tests with MPI=1 and run it again.",
        words[1]));
  }
  const auto after = [&words](std::string_view name) {
    const auto found = std::ranges::find(words, name);
    return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
  };
  if (words.back().ends_with("...")) return cut_ranks();
  if (!after("on").empty()) hosts_.insert(after("on"));
  if (!after("Group").empty()) groups_.insert(after("Group"));
  const std::size_t bus = line.find(']');
  if (bus == std::string_view::npos) return;
  std::string_view device = line.substr(bus + 1);
  device.remove_prefix(std::min(device.find_first_not_of(' '), device.size()));
  device = device.substr(0, device.find_last_not_of(' ') + 1);
  devices_.insert(std::string(device));
}

/// All ranks are listed before the headings.
void NcclTest::add_ranks() {
  if (ranks_.empty() && !ranks_are_cut_) return;
  if (!ranks_.empty()) key_.machine["GPU"] = fmt::format("{}", fmt::join(devices_, ", "));
  if (ranks_are_cut_ || *ranks_.rbegin() + 1 != static_cast<int>(ranks_.size())) {
    hosts_.clear();
    return note(fmt::format(
        "the list of ranks of {} is incomplete, so the numbers of ranks and hosts are not taken "
        "from it; state them with the launch",
        name()));
  }
  key_.launch["ranks"] = std::to_string(ranks_.size());
  key_.launch["hosts"] = std::to_string(hosts_.size());
  if (groups_.size() > 1) key_.launch["groups"] = std::to_string(groups_.size());
}

void NcclTest::read_headings(std::string_view line, std::string_view titles) {
  part_ = Part::headings;
  table_.emplace(line);
  // Option -O 0 of rccl-tests.
  only_in_place_ = titles.find("in-place") != titles.npos && titles.find("out-of") == titles.npos;
  add_ranks();
}

void NcclTest::expect_name(const RunOptions& options) const {
  if (has_name() || options.axes.contains("collective")) return;
  throw ConfigError(
      "it does not name the collective, as nccl-tests before 2.16.7 do not. Write \"# Collective "
      "test starting: all_reduce_perf\" as its first line; a history also takes the axis "
      "collective=all_reduce.");
}

void NcclTest::read_row(std::string_view line) {
  part_ = Part::rows;
  ++rows_;
  others_.settle();
  const NcclRow row = table_->row(line);
  if (const std::string size = value_of(row.parameters, "size"); !is_whole_number(size)) {
    throw ConfigError(
        fmt::format("the size \"{}\" is not a whole number, so which series the row "
                    "is of is not known",
                    escape_for_terminal(size)));
  }
  table_->expect_consistent(row, has_name() ? name() : "");
  SeriesKey key = key_;
  for (const auto& [name, value] : row.parameters) {
    if (name != "count") key.axes[name] = value;
  }
  const std::size_t before = sides_.size();
  try {
    for (const NcclSide& side : row.sides) {
      if (side.time != "N/A") add_side(key, side);
    }
  } catch (const ConfigError&) {
    // A garbled cell makes the whole row doubtful.
    sides_.erase(sides_.begin() + static_cast<std::ptrdiff_t>(before), sides_.end());
    throw;
  }
}

void NcclTest::add_side(const SeriesKey& key, const NcclSide& side) {
  Side added;
  const bool in_place = side.in_place || only_in_place_;
  added.name =
      fmt::format("{} B {}", value_of(key.axes, "size"), in_place ? "in place" : "out of place");
  SeriesKey own = key;
  own.axes["in_place"] = in_place ? "yes" : "no";
  judge(added, side.wrong, value_of(key.axes, "type"));
  added.is_wrong = !added.fault.empty();
  const std::string& time_name = table_->time_name();
  const double time = table_->time_unit() * printed_number(side.time, time_name);
  const double algorithm = 1e9 * printed_number(side.algorithm_bandwidth, "algbw");
  const double bus = 1e9 * printed_number(side.bus_bandwidth, "busbw");
  // No verdict clears a time of 0. The text may round the rate of a short message to 0.00.
  if (time <= 0 || algorithm < 0 || bus < 0) added.is_at_limit = false;
  if (!added.is_wrong && time == 0) added.fault = fmt::format("has a {} of 0", time_name);
  if (added.fault.empty() && (time < 0 || algorithm < 0 || bus < 0)) {
    added.fault = fmt::format(
        "has a {} of {}, algbw of {} and busbw of {}, none of which can be "
        "negative",
        time_name, side.time, side.algorithm_bandwidth, side.bus_bandwidth);
  }
  const auto rounding = [](double unit, const std::string& word) {
    return unit * printed_rounding(word);
  };
  add_point(added, time_name.c_str(), "s", Direction::smaller_is_better,
            {time, rounding(table_->time_unit(), side.time)}, own);
  add_point(added, "algbw", "B/s", Direction::larger_is_better,
            {algorithm, rounding(1e9, side.algorithm_bandwidth)}, own);
  add_point(added, "busbw", "B/s", Direction::larger_is_better,
            {bus, rounding(1e9, side.bus_bandwidth)}, own);
  sides_.push_back(std::move(added));
}

/// Sets the fault of a side by its last column. "N/A" stands for a test without check.
void NcclTest::judge(Side& side, const std::string& wrong, const std::string& type) const {
  if (wrong.empty() || wrong == "N/A") return;
  if (!table_->counts_wrong()) return judge_error(side, wrong, type);
  const std::optional<double> count = number_in(wrong);
  if (!count || *count < 0) {
    side.fault = fmt::format("has {} as its number of wrong elements", escape_for_terminal(wrong));
  } else if (*count > 0) {
    side.fault = "is wrong in " + places_text(*count, wrong);
  }
}

/// Before 2.13 the column has the largest error, which rounding alone makes greater than 0.
void NcclTest::judge_error(Side& side, const std::string& error, const std::string& type) const {
  if (error.ends_with('*')) {
    side.fault = fmt::format("is wrong by {}, which its asterisk says", error);
    return;
  }
  const std::optional<double> size = number_in(error);
  if (!size || *size < 0) {
    side.fault = fmt::format("has {} as its error", escape_for_terminal(error));
    return;
  }
  const double rounding = printed_rounding(error);
  // The tests of NCCL 1 accept more errors of half precision.
  const double limit = table_->is_of_nccl_1() && type == "half" ? 5e-2 : error_limit(type);
  const double most = limit * std::max<double>(1, static_cast<double>(ranks_.size()) - 1);
  constexpr double slack = 1 + 1e-9;
  if (*size <= most * slack) return;
  side.fault =
      fmt::format("is wrong by {}, where {:g} is the most that nccl-tests accepts", error, most);
  side.is_at_limit = *size - rounding <= most * slack && most > 0;
}

void NcclTest::add_point(Side& side, const char* metric, const char* unit, Direction direction,
                         Printed printed, SeriesKey key) const {
  if (!std::isfinite(printed.value))
    throw ConfigError(fmt::format("{} is beyond all numbers", metric));
  key.metric = metric;
  key.unit = unit;
  key.direction = direction;
  Point point;
  point.summary = summarize(std::array{printed.value});
  point.rounding = printed.rounding;
  side.points.push_back({std::move(key), std::move(point)});
}

void NcclTest::read_verdict(const std::vector<std::string>& words) {
  part_ = Part::verdict;
  others_.settle();
  const auto colon = std::ranges::find(words, ":");
  const std::vector<std::string> said(colon == words.end() ? colon : colon + 1, words.end());
  verdict_text_ = fmt::format("{}", fmt::join(said, " "));
  const std::optional<double> count = said.empty() ? std::nullopt : number_in(said.front());
  const bool is_ok = count && *count == 0 && std::ranges::find(said, "FAILED") == said.end();
  verdict_ = is_ok ? Verdict::ok : Verdict::failed;
}

void NcclTest::read_bandwidth(std::string_view line) {
  if (line.find("FAILED") == line.npos) return;
  note(fmt::format("{} says of itself {}: its bandwidth is below NCCL_TESTS_MIN_BW; its rows count",
                   name(), quoted_line(line)));
}

void NcclTest::add_to(ImportedRun& run, std::set<std::string>& hosts) {
  for (Side& side : sides_) {
    // The verdict applies the same limit to the true error.
    if (side.is_at_limit && verdict_ == Verdict::ok) side.fault.clear();
  }
  const bool none_is_wrong =
      std::ranges::none_of(sides_, [](const Side& side) { return side.is_wrong; });
  run.notes.insert(run.notes.end(), notes_.begin(), notes_.end());
  others_.add_to(run, name());
  if (verdict_ == Verdict::missing && rows_ > 0) {
    run.notes.push_back(fmt::format(
        "{} did not end, since its \"Out of bounds values\" are missing; the {} before count",
        name(), counted(static_cast<long long>(rows_), "row")));
  }
  if (verdict_ == Verdict::failed && none_is_wrong) {
    run.notes.push_back(fmt::format(
        "left out: all rows of {}, since it ends with \"Out of bounds values : {}\" and no row "
        "says which results are wrong",
        name(), escape_for_terminal(verdict_text_)));
    return;
  }
  add_rows(run);
  hosts.insert(hosts_.begin(), hosts_.end());
}

/// Adds the sides without fault. Option -N repeats all rows, which then are samples of one run.
void NcclTest::add_rows(ImportedRun& run) {
  const std::size_t first = run.points.size();
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<double>> samples;
  std::size_t most = 1;
  for (Side& side : sides_) {
    if (!side.fault.empty()) {
      run.notes.push_back(fmt::format("left out: {} of {} {}", side.name, name(), side.fault));
      continue;
    }
    for (KeyedPoint& keyed : side.points) {
      const double value = keyed.point.summary.median;
      const auto [found, is_new] = places.emplace(keyed.key.text(), samples.size());
      if (is_new) {
        samples.push_back({value});
        run.points.push_back(std::move(keyed));
        continue;
      }
      samples[found->second].push_back(value);
      most = std::max(most, samples[found->second].size());
      double& rounding = run.points[first + found->second].point.rounding;
      rounding = std::max(rounding, keyed.point.rounding);
    }
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].size() > 1) run.points[first + i].point.summary = summarize(samples[i]);
  }
  if (most == 1) return;
  run.notes.push_back(fmt::format(
      "sizes of {} are there up to {} times, as -N prints them; equal rows are samples of one run",
      name(), most));
}

}  // namespace dlscale::regression::history
