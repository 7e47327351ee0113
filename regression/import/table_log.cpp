#include "regression/import/table_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::regression::history {
namespace {

/// Words of nccl-tests and OSU's benchmarks (macros of their headers), of launchers, and of
/// systems.
constexpr std::array error_words{std::string_view("Test NCCL failure "),
                                 std::string_view("Test CUDA failure "),
                                 std::string_view("Test HIP failure "),
                                 std::string_view(": Test failure "),
                                 std::string_view(": Test timeout ("),
                                 std::string_view("# error: "),
                                 std::string_view("DATA VALIDATION ERROR"),
                                 std::string_view("slurmstepd: error: "),
                                 std::string_view("srun: error: "),
                                 std::string_view(" noticed that process rank "),
                                 std::string_view("BAD TERMINATION OF"),
                                 std::string_view("MPI_ABORT was invoked"),
                                 std::string_view("Fatal error in "),
                                 std::string_view("*** Process received signal ***"),
                                 std::string_view("Segmentation fault"),
                                 std::string_view("Bus error"),
                                 std::string_view("terminate called"),
                                 std::string_view("ChildFailedError"),
                                 std::string_view("DUE TO TIME LIMIT"),
                                 std::string_view("oom-kill"),
                                 std::string_view("Out Of Memory"),
                                 std::string_view("non-zero status"),
                                 std::string_view("non-zero exit code"),
                                 std::string_view("Exited with exit code "),
                                 std::string_view("exited on signal "),
                                 std::string_view("terminated with exit code "),
                                 std::string_view("PBS: job killed"),
                                 std::string_view(" CANCELLED AT "),
                                 std::string_view("DUE TO NODE FAIL"),
                                 std::string_view("DUE TO PREEMPTION"),
                                 std::string_view("core dumped")};

/// A collective in OSU's titles or as a program of nccl-tests, and its name here.
struct CollectiveName {
  std::string_view name;
  std::string_view common;
};
constexpr std::array collective_names{CollectiveName{"Allreduce", "all_reduce"},
                                      CollectiveName{"Allgather", "all_gather"},
                                      CollectiveName{"Allgatherv", "all_gatherv"},
                                      CollectiveName{"Broadcast", "broadcast"},
                                      CollectiveName{"Bcast", "broadcast"},
                                      CollectiveName{"Reduce", "reduce"},
                                      CollectiveName{"Reduce_scatter", "reduce_scatter"},
                                      CollectiveName{"All-to-All", "all_to_all"},
                                      CollectiveName{"Reduce-Scatter", "reduce_scatter"},
                                      CollectiveName{"Alltoall", "all_to_all"},
                                      CollectiveName{"alltoall", "all_to_all"}};

bool has_decimal_comma(std::string_view word) {
  const std::size_t comma = word.find(',');
  if (comma == 0 || comma == std::string_view::npos || comma + 1 == word.size()) return false;
  word.remove_prefix(word.starts_with('-') ? 1 : 0);
  return word.find_first_not_of("0123456789,eE+-") == std::string_view::npos;
}

}  // namespace

double printed_number(std::string_view word, std::string_view column) {
  const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc{} && end == digits.data() + digits.size() && std::isfinite(value)) {
    return value;
  }
  if (has_decimal_comma(word)) {
    throw ConfigError(fmt::format(
        "\"{}\" in column {} has a comma, where numbers need a decimal point; LC_ALL=C prints it",
        escape_for_terminal(word), column));
  }
  throw ConfigError(
      fmt::format("\"{}\" in column {} is not a number", escape_for_terminal(word), column));
}

double printed_rounding(std::string_view word) {
  const std::size_t mark = std::min(word.find_first_of("eE"), word.size());
  const std::size_t point = word.substr(0, mark).find('.');
  const int decimals = point == std::string_view::npos ? 0 : static_cast<int>(mark - point) - 1;
  std::string_view digits = word.substr(std::min(mark + 1, word.size()));
  if (digits.starts_with('+')) digits.remove_prefix(1);
  constexpr int most = 290;  // its power of ten is finite in any unit
  int exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error == std::errc::result_out_of_range) exponent = digits.starts_with('-') ? -most : most;
  exponent = std::clamp(exponent, -most, most);
  return 0.5 * std::pow(10.0, exponent - decimals);
}

bool is_whole_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::string_view> collective_named(std::string_view name) {
  const auto found = std::ranges::find(collective_names, name, &CollectiveName::name);
  if (found == collective_names.end()) return std::nullopt;
  return found->common;
}

bool is_line_of_nccl(std::string_view text) {
  if (text.find(" NCCL ") == std::string_view::npos) return false;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return !is_whole_number(text.substr(0, text.find_first_of(" \t")));
}

std::string quoted_line(std::string_view text) {
  constexpr std::size_t most = 120;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text = text.substr(0, text.find_last_not_of(" \t") + 1);
  const bool is_cut = text.size() > most;
  return fmt::format("\"{}{}\"", escape_for_terminal(text.substr(0, most)), is_cut ? "…" : "");
}

void JobErrors::read(const LauncherLine& line) {
  const std::string_view text = line.text;
  const bool says_so = std::ranges::any_of(error_words, [text](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  });
  if (!says_so) return;
  if (count_++ > 0) return;
  first_ = line.number == 0 ? "" : fmt::format(" in line {}", line.number);
  first_ += ": " + quoted_line(text);
}

void JobErrors::add_to(ImportedRun& run) const {
  if (count_ == 0) return;
  const auto others = static_cast<long long>(count_) - 1;
  const std::string more = others == 0 ? "" : fmt::format(", and {} more", counted(others, "line"));
  run.notes.push_back(fmt::format("the log reports an error{}{}", first_, more));
}

void OtherLines::read(const LauncherLine& line) {
  ++waiting_;
  if (first_.empty()) first_ = fmt::format("line {}: {}", line.number, quoted_line(line.text));
}

void OtherLines::settle() {
  within_ += waiting_;
  waiting_ = 0;
}

void OtherLines::add_to(ImportedRun& run, std::string_view table) const {
  if (within_ == 0) return;
  run.notes.push_back(fmt::format("passed over: {} of other text within the table of {}, first {}",
                                  counted(static_cast<long long>(within_), "line"),
                                  escape_for_terminal(table), first_));
}

void RowsWithoutHeadings::read(const LauncherLine& line) {
  if (count_++ == 0) first_ = line.number;
}

void RowsWithoutHeadings::add(const RowsWithoutHeadings& others) {
  if (others.count_ == 0) return;
  first_ = count_ == 0 ? others.first_ : std::min(first_, others.first_);
  count_ += others.count_;
}

void RowsWithoutHeadings::add_to(ImportedRun& run) const {
  if (count_ == 0) return;
  run.notes.push_back(fmt::format("left out: {} without headings before, the first in line {}",
                                  counted(static_cast<long long>(count_), "row"), first_));
}

}  // namespace dlscale::regression::history
