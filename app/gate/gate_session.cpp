#include "app/gate/gate_session.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/environment.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

using regression::GateMetric;

bool is_open(const GateMetric& metric) {
  return !metric.is_decided();
}

/// The end of a metric's key, which distinguishes metrics better than its beginning.
std::string short_name(const GateMetric& metric) {
  constexpr std::size_t most = 32;
  const std::string& key = metric.key;
  if (key.size() <= most) return escape_for_terminal(key);
  std::size_t from = key.size() - most + 3;
  while (from < key.size() && (key[from] & 0xC0) == 0x80) ++from;  // do not cut a UTF-8 character
  return fmt::format("...{}", escape_for_terminal(key.substr(from)));
}

std::string effect_of(const GateMetric& metric) {
  std::string effect = fmt::format(", {} {}", short_name(metric), signed_percent(metric.ratio - 1));
  if (!metric.ratio_low || !metric.ratio_high || !(*metric.ratio_low > 0)) return effect;
  const double half = std::sqrt(*metric.ratio_high / *metric.ratio_low) - 1;
  return fmt::format("{} ±{:.1f}", effect, half * 100);
}

std::string worst_open(const regression::GateReport& report) {
  const GateMetric* worst = nullptr;
  for (const GateMetric& metric : report.metrics) {
    if (is_open(metric) && (worst == nullptr || metric.ratio > worst->ratio)) worst = &metric;
  }
  return worst == nullptr ? "" : effect_of(*worst);
}

/// Whether the next word is the output file.
bool is_option(std::string_view word) {
  constexpr std::array<std::string_view, 3> names{"-o", "--output", "--out"};
  return std::ranges::find(names, word) != names.end();
}

/// Whether the word contains the output file: "-oFILE", "--output=FILE". Other options with one
/// dash do not begin with "-o".
bool holds_output(std::string_view word) {
  return !is_option(word) &&
         (word.starts_with("-o") || word.starts_with("--output=") || word.starts_with("--out="));
}

}  // namespace

RoundsSession::~RoundsSession() {
  if (temporary_.empty()) return;
  std::error_code error;
  fs::remove_all(temporary_, error);
}

void RoundsSession::declare(CLI::App& command) {
  command.add_option("--seed", seed_, "Of the order within rounds")
      ->check(app::seed())
      ->capture_default_str()
      ->envname("DLSCALE_SEED");
  declare_quiet(command, quiet_);
  command
      .add_option("-o,--output", path_,
                  "Folder that keeps the rounds: the same command goes on there. Without it only "
                  "what failed or was interrupted is kept, in a temporary folder that is named")
      ->type_name("FOLDER");
  command.add_flag("--restart", fresh_, "Discard the rounds that are in the folder");
  declare_format(command, format_);
  further_.declare(command);
  declare_colour(command, colour_);
}

void RoundsSession::check(const report::Document& like) const {
  static_cast<void>(report::format::find_format(format_));
  further_.check(like);
  check_folder();
}

void RoundsSession::check_folder() const {
  if (path_.empty()) {
    if (!fresh_) return;
    throw ConfigError("--restart has no effect without -o FOLDER: nothing is kept. Leave it out.");
  }
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error)) {
    throw ConfigError(
        fmt::format("{} is a file, and rounds need a folder. Name one with -o.", path_));
  }
  if (const int problem = try_to_write(fs::path(path_) / (verb_ + ".json")); problem != 0) {
    throw ConfigError(fmt::format("no file can be written in {} ({}). Name another folder with -o.",
                                  path_, std::strerror(problem)));
  }
}

void RoundsSession::open() {
  if (!path_.empty()) return;
  const fs::path place = temporary_folder();
  std::string name = (place / fmt::format("dlscale-{}-XXXXXX", verb_)).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw ConfigError(fmt::format("no folder can be made in {} ({}). Name one with -o.",
                                  place.string(), std::strerror(errno)));
  }
  temporary_ = path_ = name;
}

void RoundsSession::keep() {
  if (temporary_.empty()) return;
  fmt::print(stderr, "the rounds so far are in {0}: the same command goes on with -o {0}\n",
             temporary_);
  temporary_.clear();
}

regression::InterleavedRounds RoundsSession::rounds_in_folder(
    const std::vector<regression::Arm>& arms, const std::string& question) const {
  using regression::InterleavedRounds;
  try {
    return {path_, arms, seed_, question,
            fresh_ ? InterleavedRounds::Start::fresh : InterleavedRounds::Start::go_on};
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{} (-o names the folder, and --restart discards its rounds.)", error.what()));
  }
}

void RoundsSession::measure(const std::vector<regression::Arm>& arms,
                            const nlohmann::ordered_json& facts, RoundsTask& task) {
  open();
  nlohmann::ordered_json question{{"verb", verb_}};
  for (const regression::Arm& arm : arms) question["commands"][arm.name] = arm.command;
  question.update(facts);
  question["seed"] = seed_;
  keep_on_failure([&] {
    regression::InterleavedRounds rounds = rounds_in_folder(arms, question.dump());
    const std::size_t kept = rounds.rounds().size();
    for (const regression::Round& round : rounds.rounds()) task.add(round);
    ProgressLine progress(ProgressLine::kind_for(quiet_));
    while (task.wants_more()) {
      throw_if_interrupted();
      rounds.run_next();
      task.add(rounds.rounds().back());
      if (const std::string news = task.news(); !news.empty() && !quiet_) {
        progress.clear();
        fmt::print(stderr, "{}\n", news);
      }
      progress.show(task.progress());
    }
    if (rounds.rounds().size() == kept && kept > 0 && !quiet_) {
      fmt::print(stderr, "all rounds were there: nothing was run\n");
    }
  });
}

std::string RoundsSession::answer_file() const {
  return is_kept() ? (fs::path(path_) / (verb_ + ".json")).string() : "";
}

void RoundsSession::write(report::Document document) {
  if (quiet_) document.next.clear();
  if (is_kept()) write_output(answer_file(), document.json());
  write_output("-",
               report::format::find_format(format_).write(document, terminal_of_output(colour_)));
  if (document.records.rows.empty()) {
    if (further_.any()) {
      fmt::print(stderr, "dlscale: nothing was compared, so --write writes nothing\n");
    }
    return;
  }
  keep_on_failure([&] { further_.write(document); });
}

std::string machine_text() {
  const Environment environment = capture_environment();
  return fmt::format("{}, {}", environment.cpu, counted(environment.cores, "core"));
}

std::string gate_progress(const regression::GateReport& report, double round_s,
                          const std::optional<double>& budget_s) {
  const int most = report.looks.empty() ? report.rounds : report.looks.back().rounds;
  const auto open = std::ranges::count_if(report.metrics, is_open);
  const double left = round_s * (most - report.rounds);
  const std::string aside =
      report.set_aside == 0 ? "" : fmt::format(", {} set aside", report.set_aside);
  return fmt::format("[{}/{} rounds{}] {} of {} open{} (at most {} left)", report.rounds, most,
                     aside, open, counted(static_cast<long long>(report.metrics.size()), "metric"),
                     worst_open(report),
                     duration_text(std::max(0.0, std::min(left, budget_s.value_or(left)))));
}

std::string noise_progress(int rounds, double spent_s, double budget_s) {
  return fmt::format("[{}, {:.1f} of {:.1f} min] (about {} left)", counted(rounds, "round"),
                     spent_s / 60, budget_s / 60, duration_text(std::max(0.0, budget_s - spent_s)));
}

bool names_output(const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return is_option(word) || holds_output(word); });
}

std::vector<std::string> without_output(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_option(words[i])) {
      ++i;
    } else if (!holds_output(words[i])) {
      kept.push_back(words[i]);
    }
  }
  return kept;
}

}  // namespace dlscale::app
