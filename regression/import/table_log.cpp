#include "regression/import/table_log.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <system_error>
#include <utility>

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

constexpr std::array nccl_programs{
    NcclProgram{"all_reduce", true}, NcclProgram{"all_gather"},   NcclProgram{"broadcast", true},
    NcclProgram{"reduce_scatter"},   NcclProgram{"reduce", true}, NcclProgram{"alltoall"},
    NcclProgram{"alltoallv"},        NcclProgram{"scatter"},      NcclProgram{"gather"},
    NcclProgram{"sendrecv", true},   NcclProgram{"hypercube"}};

/// A launcher with its options, or a program of OSU's benchmarks or nccl-tests.
const re2::RE2& command_pattern() {
  static const re2::RE2 pattern(
      R"((?:^|[\s/])(?:mpirun\w*|mpiexec[\w.]*|srun|jsrun|lrun|aprun|orterun|prterun|prun|ibrun)"
      R"(|torchrun|horovodrun|flux run) +(?:-|\.|/)|(?:^|[\s/])(?:osu_\w+|\w+_perf)(?:_mpi|\.exe)?(?:\s|$))");
  return pattern;
}

/// Parts of a command line that differ between repetitions.
std::string without_repetition(std::string text) {
  static const re2::RE2 varying(
      R"(\d{4}-\d\d-\d\d[T ]?|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|\d{9,})"
      R"(|(?i)\b(?:runs?|rep\w*|iter\w*|round|trial|pass|attempt|loop)\W{0,3}\d+)"
      R"((?:\s*(?:of|/)\s*\d+)?)");
  re2::RE2::GlobalReplace(&text, varying, "");
  return text;
}

/// Whether a variable counts repetitions, or names a job, a time or a file.
bool names_no_setting(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char one) { return std::tolower(one); });
  static const re2::RE2 pattern(
      R"(i|j|k|x|runs?|rep\w*|iter\w*|round|trial|pass|attempt|loop|seed|start\w*|end\w*|elapsed\w*)"
      R"(|.*(?:job|time|date|pid|_id|pwd|log|file|out|output|port|addr|tmp|dir|path)\w*)");
  return re2::RE2::FullMatch(name, pattern);
}

/// Whether the text behind a number of tasks says how far a job has come: "2 tasks left".
bool says_what_is_left(const re2::StringPiece& text) {
  static const re2::RE2 progress(
      R"((?i)\s+(?:are |is |have |has |still )*(?:left|remain|to go|done|finish|complet|wait|pend|queue).*)");
  return re2::RE2::FullMatch(text, progress);
}

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

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

ConfigError wrong_columns(std::size_t words, std::size_t headings) {
  return ConfigError(fmt::format("the row has {} where the headings have {}",
                                 counted(static_cast<long long>(words), "column"), headings));
}

bool has_headings_of_columns(std::string_view line) {
  static const re2::RE2 of_sizes_and_times(
      R"((?i)^\s*#?\s*#?(?:size|bytes|msg|message).*(?:\s{2,}|\t)\S.*(?:time|usec|lat|bw|MB(?:ytes)?/s|GB/s))");
  static const re2::RE2 wide_gap(R"((?:\s{2,}|\t)\S)");
  re2::StringPiece rest(line.data(), line.size());
  if (!re2::RE2::PartialMatch(rest, of_sizes_and_times)) return false;
  const std::size_t mark = line.find_first_not_of(" \t#");
  rest = re2::StringPiece(line.data() + mark, line.size() - mark);
  int gaps = 0;
  while (re2::RE2::FindAndConsume(&rest, wide_gap)) ++gaps;
  return gaps >= 2;
}

std::optional<std::string_view> collective_named(std::string_view name) {
  const auto found = std::ranges::find(collective_names, name, &CollectiveName::name);
  if (found == collective_names.end()) return std::nullopt;
  return found->common;
}

const NcclProgram* nccl_program(std::string_view name) {
  const auto* const found = std::ranges::find(nccl_programs, name, &NcclProgram::name);
  return found == nccl_programs.end() ? nullptr : found;
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

std::string JobErrors::text() const {
  const auto others = static_cast<long long>(count_) - 1;
  const std::string more = others == 0 ? "" : fmt::format(", and {} more", counted(others, "line"));
  return fmt::format("the log reports an error{}{}", first_, more);
}

void JobErrors::add_to(ImportedRun& run) const {
  if (count_ > 0) run.notes.push_back(text());
}

std::string JobErrors::as_reason() const {
  return count_ == 0 ? "" : "; " + text();
}

void LaunchTexts::set(const std::string& name, std::string value, const LauncherLine& line) {
  std::string& known = settings_[name];
  if (known == value) return;
  known = std::move(value);
  last_.reset();
  last_line_ = fmt::format("line {}, {}", line.number, quoted_line(line.text));
}

void LaunchTexts::read(const LauncherLine& line) {
  constexpr std::size_t longest = 2000;
  if (line.text.empty() || line.text.size() > longest) return;
  const std::string text = without_repetition(line.text);
  static const re2::RE2 of_tools(
      R"(^\s*#\s*(?:Rank|nThread|nccl-tests|rccl-tests|OSU|Collective)\b)");
  if (re2::RE2::PartialMatch(text, of_tools)) return;
  std::string name;
  std::string value;
  static const re2::RE2 of_nccl(
      R"( NCCL INFO (NCCL_(?:ALGO|PROTO|NVLS_ENABLE|P2P_DISABLE|SHM_DISABLE)"
      R"(|IB_DISABLE|MAX_\w+|MIN_\w+)) set (?:by environment )?to (\S+))");
  if (text.find(" NCCL ") != std::string::npos) {
    if (re2::RE2::PartialMatch(text, of_nccl, &name, &value)) set(name, value, line);
    return;
  }
  const bool is_comment = text.find_first_not_of(" \t") == text.find('#');
  if (!is_comment && re2::RE2::PartialMatch(text, command_pattern())) set("command", text, line);
  static const re2::RE2 assignment(R"(\b([A-Za-z_]\w*)=([^\s=]+))");
  re2::StringPiece rest(text);
  while (re2::RE2::FindAndConsume(&rest, assignment, &name, &value)) {
    if (!names_no_setting(name)) set(name, value, line);
  }
  static const re2::RE2 number_of(
      R"((?i)\b(\d+)[ -](ranks?|nodes?|process(?:es)?|procs?|tasks?|gpus?|hosts?)\b)");
  rest = re2::StringPiece(text);
  while (re2::RE2::FindAndConsume(&rest, number_of, &value, &name)) {
    if (!says_what_is_left(rest)) set(name, value, line);
  }
  static const re2::RE2 named_number(
      R"((?i)\b(np|nprocs?|ranks|nodes|nnodes|ntasks|tasks|processes|procs|gpus|ppn|algo\w*|proto\w*))"
      R"((?:\s*:\s*|\s+)(\d+|ring|tree|nvls\w*|collnet\w*|ll|ll128|simple)\b)");
  rest = re2::StringPiece(text);
  while (re2::RE2::FindAndConsume(&rest, named_number, &name, &value)) set(name, value, line);
}

Launch LaunchTexts::last() const {
  if (last_ == nullptr) {
    auto launch = std::make_shared<LaunchText>(LaunchText{"", last_line_});
    for (const auto& [name, value] : settings_) launch->settings += name + "=" + value + "\n";
    last_ = std::move(launch);
  }
  return last_;
}

void LaunchesOfSeries::add(const SeriesKey& key, const Launch& launch) {
  const auto [found, is_new] = launches_.try_emplace(key.text(), launch);
  if (is_new || found->second == launch || !second_line_.empty()) return;
  const auto settings = [](const Launch& one) { return one ? one->settings : std::string(); };
  if (settings(found->second) != settings(launch)) second_line_ = launch ? launch->line : "";
}

void LaunchesOfSeries::expect_one_each() const {
  if (second_line_.empty()) return;
  throw ConfigError(
      fmt::format("it has tables of several launches, as {} says, whose rows nothing else tells "
                  "apart. Cut it into a file for each launch.",
                  second_line_));
}

bool are_same(const ImportedRun& a, const ImportedRun& b) {
  const auto same = [](const KeyedPoint& left, const KeyedPoint& right) {
    return left.key.text() == right.key.text() &&
           left.point.summary.median == right.point.summary.median;
  };
  return std::ranges::equal(a.points, b.points, same);
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

void RowsOfOtherTables::begin(const LauncherLine& headings) {
  is_open_ = true;
  headings_ = fmt::format("line {}, {}", headings.number, quoted_line(headings.text));
}

bool RowsOfOtherTables::read(const LauncherLine& line) {
  if (!is_open_) return false;
  const std::vector<std::string> words = words_in(line.text);
  constexpr std::size_t least = 3;
  if (words.size() < least || !is_whole_number(words[0])) return false;
  const bool has_numbers = std::ranges::count_if(words, [](const std::string& word) {
                             return std::isdigit(static_cast<unsigned char>(word.front())) != 0;
                           }) >= static_cast<std::ptrdiff_t>(least);
  if (!has_numbers) return false;
  if (rows_++ == 0) first_ = headings_;
  return true;
}

void RowsOfOtherTables::add_to(ImportedRun& run, std::string_view program) const {
  if (rows_ == 0) return;
  run.notes.push_back(fmt::format("left out: {} below headings that are not those of {}: {}",
                                  counted(static_cast<long long>(rows_), "row"), program, first_));
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
