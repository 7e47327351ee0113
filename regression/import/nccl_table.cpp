#include "regression/import/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

bool is_time_heading(std::string_view heading) {
  return heading == "time" || heading == "cputime";
}

/// The name since 2019 of a parameter.
std::string parameter_name(const std::string& heading) {
  if (heading == "bytes") return "size";
  if (heading == "N") return "count";
  return heading == "op" ? "redop" : heading;
}

bool is_blank(char letter) {
  return std::isspace(static_cast<unsigned char>(letter)) != 0;
}

/// Bytes of an element by its name in the column "type"; 0 for any other name.
int element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int>, 14> types{{{"int8", 1},
                                                                    {"uint8", 1},
                                                                    {"int32", 4},
                                                                    {"uint32", 4},
                                                                    {"int64", 8},
                                                                    {"uint64", 8},
                                                                    {"half", 2},
                                                                    {"bfloat16", 2},
                                                                    {"float", 4},
                                                                    {"double", 8},
                                                                    {"f8e4m3", 1},
                                                                    {"f8e5m2", 1},
                                                                    {"fp8_e4m3", 1},
                                                                    {"fp8_e5m2", 1}}};
  const auto* const found =
      std::ranges::find(types, type, &std::pair<std::string_view, int>::first);
  return found == types.end() ? 0 : found->second;
}

std::string text_of(const Facts& parameters, const char* name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

/// Blocks of `count` elements that the size holds; nothing if the row does not say.
std::optional<double> blocks_of(const Facts& parameters, std::string_view collective) {
  const std::string count = text_of(parameters, "count");
  if (count.empty()) return std::nullopt;
  if (!is_whole_number(count)) {
    throw ConfigError(
        fmt::format("\"{}\" in column count is not a whole number", escape_for_terminal(count)));
  }
  const std::string size = text_of(parameters, "size");
  const std::string type = text_of(parameters, "type");
  const double elements = printed_number(count, "count");
  const double element = element_bytes(type);
  if (elements == 0 || element == 0) return std::nullopt;
  const double blocks = printed_number(size, "size") / (elements * element);
  const NcclProgram* const program = nccl_program(collective);
  const bool has_one_block = program != nullptr && program->has_one_block;
  const bool fits = has_one_block ? blocks == 1 : blocks == std::floor(blocks);
  if (fits) return blocks;
  throw ConfigError(fmt::format(
      "the size {} is not that of {} elements of {}, so the row is garbled", size, count, type));
}

/// A printed number, and half the unit of its last digit.
struct Rounded {
  double value = 0;
  double half = 0;
};

/// Decimals of JSON may lack zeros at the end.
Rounded rounded(std::string_view word, std::string_view column) {
  const double value = printed_number(word, column);
  const std::size_t point = word.find('.');
  constexpr std::size_t most_decimals = 3;  // of the text
  const bool is_of_json =
      point != std::string_view::npos && word.size() - point > most_decimals + 1;
  if (is_of_json) word = word.substr(0, word.find_last_not_of('0') + 1);
  return {value, printed_rounding(word)};
}

Rounded scaled(Rounded number, double unit) {
  return {unit * number.value, unit * number.half};
}

constexpr double rate_slack = 1e-4;  // of the programs' own arithmetic

/// Whether `bytes` in the time have this rate.
bool have_rate(double bytes, Rounded time, Rounded rate) {
  const double shortest = time.value - time.half;
  const double most = shortest > 0 ? bytes / shortest : std::numeric_limits<double>::infinity();
  return (rate.value + rate.half) * (1 + rate_slack) >= bytes / (time.value + time.half) &&
         (rate.value - rate.half) * (1 - rate_slack) <= most;
}

/// Rates of the bus are 0.5 to 2 times the others; one rank needs no bus.
bool may_be_bus(Rounded bus, Rounded rate) {
  if (bus.value == 0) return true;
  return bus.value + bus.half >= 0.5 * (rate.value - rate.half) * (1 - rate_slack) &&
         bus.value - bus.half <= 2 * (rate.value + rate.half) * (1 + rate_slack);
}

}  // namespace

std::vector<NcclTable::Word> NcclTable::words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    words.push_back({std::string(line.substr(begin, at - begin)), at});
  }
  return words;
}

bool NcclTable::has_headings(std::string_view line) {
  const std::vector<Word> words = words_of(line);
  if (words.empty()) return false;
  const std::string& first = words.front().text;
  if (first.front() != '#' && first != "size" && first != "bytes") return false;
  const auto has = [&words](std::string_view heading) {
    return std::ranges::find(words, heading, &Word::text) != words.end();
  };
  return has("algbw") && (has("time") || has("cputime"));
}

NcclTable::NcclTable(std::string_view line) : headings_(words_of(line)) {
  std::string& first = headings_.front().text;
  if (first == "#") {
    headings_.erase(headings_.begin());
  } else if (first.starts_with('#')) {
    first.erase(0, 1);
  }
  std::vector<std::size_t> times;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    if (is_time_heading(headings_[i].text)) times.push_back(i);
  }
  if (times.empty() || times.size() > 2 || times.front() == 0) {
    throw ConfigError(
        "the headings are not those of nccl-tests: one or two columns of times are needed");
  }
  parameters_ = times.front();
  constexpr std::size_t most_parameters = 10;  // each doubles the sets of blank columns
  if (parameters_ > most_parameters) {
    throw ConfigError(
        fmt::format("the headings are not those of nccl-tests: {} columns come before the times, "
                    "and no version has more than {}",
                    parameters_, most_parameters));
  }
  expect_no_bandwidths_before(times.front());
  time_name_ = headings_[parameters_].text;
  const bool has_timestamp = headings_.back().text == "timestamp";
  const std::size_t end = headings_.size() - (has_timestamp ? 1 : 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    sides_.push_back(side_from(times[i], i + 1 < times.size() ? times[i + 1] : end));
  }
  const std::string& wrong = headings_[sides_.front().wrong].text;
  counts_wrong_ = wrong == "#wrong";
  if (wrong == "res" || wrong == "delta") time_unit_ = 1e-3;  // before 2019
  // A timestamp is a date and a clock.
  if (has_timestamp) headings_.push_back({"clock", headings_.back().end + 9});
  blanks_ = blank_columns();
}

/// A garbled heading would make the first side a list of parameters.
void NcclTable::expect_no_bandwidths_before(std::size_t time) const {
  for (std::size_t i = 0; i < time; ++i) {
    if (headings_[i].text != "algbw" && headings_[i].text != "busbw") continue;
    throw ConfigError(fmt::format(
        "the headings have a column {} before the first time, so whose values they are is not "
        "known",
        headings_[i].text));
  }
}

NcclTable::SideColumns NcclTable::side_from(std::size_t time, std::size_t end) const {
  const auto find = [&](std::string_view heading) {
    std::size_t at = time;
    while (at < end && headings_[at].text != heading) ++at;
    return at;
  };
  const auto place = [&](const char* heading) {
    if (find(heading) < end) return find(heading);
    throw ConfigError(fmt::format("the headings have no column {} after a time", heading));
  };
  for (std::size_t at = time; at < end; ++at) {
    const bool is_twice = std::ranges::count(headings_.begin() + static_cast<std::ptrdiff_t>(at),
                                             headings_.begin() + static_cast<std::ptrdiff_t>(end),
                                             headings_[at].text, &Word::text) > 1;
    if (!is_twice) continue;
    throw ConfigError(fmt::format(
        "the headings have two columns {} after one time, so whose values they are is not known",
        escape_for_terminal(headings_[at].text)));
  }
  SideColumns side{time, end, place("algbw"), place("busbw"), find("#wrong")};
  for (const char* older : {"error", "res", "delta"}) {
    if (side.wrong == end) side.wrong = find(older);
  }
  if (side.wrong == end) place("#wrong");
  return side;
}

std::vector<std::vector<bool>> NcclTable::blank_columns() const {
  std::vector<std::vector<bool>> sets{std::vector<bool>(headings_.size(), false)};
  for (const SideColumns& side : sides_) {
    std::vector<bool>& set = sets.emplace_back(sets.front());
    if (sides_.size() == 2) std::fill(set.begin() + side.begin, set.begin() + side.end, true);
  }
  constexpr std::size_t numbers = 2;  // size and count
  for (std::size_t column = numbers; column < parameters_; ++column) {
    const std::size_t without = sets.size();
    for (std::size_t i = 0; i < without; ++i) {
      sets.push_back(sets[i]);
      sets.back()[column] = true;
    }
  }
  return sets;
}

/// The text of each column. Columns are aligned to the right, so a word ends below its heading,
/// give or take what wide numbers shift it by.
std::vector<std::string> NcclTable::cells_of(const std::vector<Word>& words) const {
  std::vector<std::string> cells(headings_.size());
  if (words.size() == headings_.size()) {
    std::ranges::transform(words, cells.begin(), &Word::text);
    return cells;
  }
  constexpr std::size_t most_shift = 4;
  std::size_t least = most_shift + 1;
  for (const std::vector<bool>& blank : blanks_) {
    if (words.size() + static_cast<std::size_t>(std::ranges::count(blank, true)) !=
        headings_.size()) {
      continue;
    }
    std::vector<std::string> tried(headings_.size());
    std::size_t shift = 0;
    auto word = words.begin();
    for (std::size_t i = 0; i < headings_.size(); ++i) {
      if (blank[i]) continue;
      const std::size_t end = headings_[i].end;
      shift = std::max(shift, std::max(end, word->end) - std::min(end, word->end));
      tried[i] = (word++)->text;
    }
    if (shift >= least) continue;
    least = shift;
    cells = std::move(tried);
  }
  if (least <= most_shift) return cells;
  throw wrong_columns(words.size(), headings_.size());
}

NcclRow NcclTable::row(std::string_view line) const {
  const std::vector<std::string> cells = cells_of(words_of(line));
  NcclRow row;
  for (std::size_t i = 0; i < parameters_; ++i) {
    if (!cells[i].empty()) row.parameters[parameter_name(headings_[i].text)] = cells[i];
  }
  for (const SideColumns& side : sides_) {
    if (cells[side.begin].empty()) continue;
    row.sides.push_back({&side != sides_.data(), cells[side.begin], cells[side.algorithm_bandwidth],
                         cells[side.bus_bandwidth], cells[side.wrong]});
  }
  return row;
}

void NcclTable::expect_consistent(const NcclRow& row, std::string_view collective) const {
  if (is_of_nccl_1() || collective == "alltoallv") return;
  const std::optional<double> blocks = blocks_of(row.parameters, collective);
  if (time_name_ != "time") return;
  const double bytes = printed_number(text_of(row.parameters, "size"), "size");
  // Some programs do not count the block that a rank keeps.
  const double sent = blocks && *blocks > 1 ? bytes * (*blocks - 1) / *blocks : bytes;
  for (const NcclSide& side : row.sides) {
    if (side.time == "N/A") continue;
    const Rounded time = scaled(rounded(side.time, time_name_), time_unit_);
    const Rounded rate = scaled(rounded(side.algorithm_bandwidth, "algbw"), 1e9);
    const Rounded bus = scaled(rounded(side.bus_bandwidth, "busbw"), 1e9);
    if (time.value <= 0 || rate.value <= 0 || bus.value < 0) continue;
    if (!have_rate(bytes, time, rate) && !have_rate(sent, time, rate)) {
      throw ConfigError(
          fmt::format("the algbw {} is not that of {} B in the time {}, so the row is garbled",
                      side.algorithm_bandwidth, text_of(row.parameters, "size"), side.time));
    }
    if (may_be_bus(bus, rate)) continue;
    throw ConfigError(fmt::format("the busbw {} is not that of the algbw {}, so the row is garbled",
                                  side.bus_bandwidth, side.algorithm_bandwidth));
  }
}

}  // namespace dlscale::regression::history
