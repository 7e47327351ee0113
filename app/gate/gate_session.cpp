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
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "core/text/shown_text.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

using regression::GateMetric;

bool is_open(const GateMetric& metric) {
  return metric.verdict == regression::Verdict::inconclusive;
}

/// The end of a metric's key, which distinguishes metrics better than its beginning.
std::string short_name(const GateMetric& metric) {
  constexpr std::size_t most = 32;
  const std::string& key = metric.key;
  if (key.size() <= most) return shown_text(key);
  std::size_t from = key.size() - most + 3;
  while (from < key.size() && (key[from] & 0xC0) == 0x80) ++from;  // do not cut a UTF-8 character
  return fmt::format("...{}", shown_text(key.substr(from)));
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

SessionFolder::~SessionFolder() {
  if (temporary_.empty()) return;
  std::error_code error;
  fs::remove_all(temporary_, error);
}

void SessionFolder::declare(CLI::App& verb) {
  verb.add_option("-o,--output", path_,
                  "Folder that keeps the rounds: the same command goes on there. Without it only "
                  "what failed or was interrupted is kept, in a temporary folder that is named")
      ->type_name("FOLDER");
  verb.add_flag("--restart", fresh_, "Discard the rounds that are in the folder");
}

void SessionFolder::open(const std::string& kind) {
  if (!path_.empty()) {
    std::error_code error;
    if (fs::exists(path_, error) && !fs::is_directory(path_, error)) {
      throw ConfigError(
          fmt::format("{} is a file, and rounds need a folder. Name one with -o.", path_));
    }
    return;
  }
  if (fresh_) {
    throw ConfigError("--restart has no effect without -o FOLDER: nothing is kept. Leave it out.");
  }
  std::string name = (fs::temp_directory_path() / fmt::format("dlscale-{}-XXXXXX", kind)).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw ConfigError(fmt::format("no folder can be made in {} ({}). Name one with -o.",
                                  fs::temp_directory_path().string(), std::strerror(errno)));
  }
  temporary_ = path_ = name;
}

void SessionFolder::keep() {
  if (temporary_.empty()) return;
  fmt::print(stderr, "the rounds so far are in {0}: the same command goes on with -o {0}\n",
             temporary_);
  temporary_.clear();
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
