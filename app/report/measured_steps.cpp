#include "app/report/measured_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/config/config_path.hpp"
#include "core/system/this_command_line.hpp"
#include "core/text/numbers.hpp"
#include "core/text/shell_words.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using report::NextStep;

constexpr const char* page_reason = "See them on a page:";

bool is_there(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

/// The first convolution of a network that has a name; null if there is none.
const Measurement* named_convolution(std::span<const ResultFile> files) {
  const std::vector<std::string> known = config_names("networks");
  for (const ResultFile& file : files) {
    for (const Measurement& row : file.measurements) {
      const auto network = row.axes.find("network");
      const bool is_named = network != row.axes.end() && row.benchmark == "conv" &&
                            std::ranges::find(known, network->second) != known.end();
      if (is_named && !row.series.empty()) return &row;
    }
  }
  return nullptr;
}

/// Options with the values of these axes of a row, where they are not what the verbs take.
std::string options_of(const Measurement& row, std::span<const std::string_view> axes) {
  using Typed = std::pair<std::string_view, std::string_view>;
  constexpr std::array usual{Typed("threads", "1"), Typed("dtype", "f32"), Typed("cache", "cold")};
  std::string words;
  for (const std::string_view axis : axes) {
    const auto value = row.axes.find(std::string(axis));
    if (value == row.axes.end()) continue;
    const std::pair typed(axis, std::string_view(value->second));
    if (std::ranges::find(usual, typed) != usual.end()) continue;
    words += fmt::format(" --{} {}", axis, shell_word(value->second));
  }
  return words;
}

NextStep keep(const std::string& results) {
  return {"Keep them in a history, which finds what becomes slower:",
          fmt::format("dlscale history add {} --store perf-history", results)};
}

/// The command line of this process, with its results kept in a file.
std::string this_command_kept_in(const std::string& file) {
  std::vector<std::string> line = this_command_line();
  line.front() = "dlscale";
  line.insert(line.end(), {"-o", file});
  return shell_line(line);
}

/// A command line whose option has this value; --resume, which keeps what was measured, is gone.
std::string with_option(std::vector<std::string> line, const std::string& option,
                        const std::string& value) {
  line.front() = "dlscale";
  std::erase(line, "--resume");
  std::erase_if(line, [&](const std::string& word) { return word.starts_with(option + "="); });
  if (const auto at = std::ranges::find(line, option); at != line.end()) {
    line.erase(at, std::ranges::next(at, 2, line.end()));
  }
  line.insert(line.end(), {option, value});
  return shell_line(line);
}

/// A part that predictions need, and the command that measures it.
struct MachinePart {
  bool is_there;
  std::string_view name;
  std::string_view command;
};

/// The steps that measure what the machine lacks; without messages it predicts one rank alone.
std::vector<NextStep> steps_of_lacking(const model::Machine& made) {
  const bool has_messages = !made.collectives.empty() || !made.algorithms.empty();
  const std::array parts{
      MachinePart{!made.kernels.empty(), "times of kernels",
                  "dlscale bench conv --network resnet50 --batch 8 -o conv.jsonl"},
      MachinePart{!made.update.empty(), "times of updates", "dlscale bench update -o update.jsonl"},
      MachinePart{!made.h2d.empty(), "copies to the device",
                  "dlscale bench memory -o memory.jsonl"},
      MachinePart{!made.loaders.empty(), "reading from storage",
                  "dlscale data make --out data --pictures 512 && dlscale bench io --data data -o "
                  "io.jsonl"},
      MachinePart{has_messages, "communication", "dlscale bench comm --ranks 2 -o comm.jsonl"}};
  std::vector<NextStep> steps;
  for (const MachinePart& part : parts) {
    if (part.is_there) continue;
    steps.push_back(
        {fmt::format("It lacks {}: measure, then calibrate with all results:", part.name),
         std::string(part.command)});
  }
  return steps;
}

}  // namespace

std::vector<NextStep> steps_of_unstable(long long unstable, long long all,
                                        const std::vector<std::string>& line,
                                        const std::map<std::string, std::string>& run) {
  std::vector<NextStep> steps = steps_of_noise();
  steps.front().reason =
      fmt::format("{} of {} {} unstable: see what makes this machine noisy:", unstable,
                  counted(all, "measurement"), unstable == 1 ? "is" : "are");
  const auto ranks = run.find("ranks");
  if (line.empty() || (ranks != run.end() && ranks->second != "1")) return steps;
  for (const auto& [name, option] :
       {std::pair("max_time", "--max-time"), std::pair("iterations", "--iterations")}) {
    const auto value = run.find(name);
    if (value == run.end()) continue;
    const double twice = 2 * std::strtod(value->second.c_str(), nullptr);
    steps.push_back({"Then measure again, for twice the time:",
                     with_option(line, option, fmt::format("{:g}", twice))});
    break;
  }
  return steps;
}

std::vector<NextStep> steps_of_bench(std::string_view benchmark, const std::string& file) {
  if (!file.empty()) {
    std::vector<NextStep> steps;
    // Others have a page together with further results alone.
    constexpr std::array<std::string_view, 3> with_page{"memory", "peak", "latency"};
    if (std::ranges::find(with_page, benchmark) != with_page.end()) {
      steps.push_back({page_reason, fmt::format("dlscale report {} -o page", shell_word(file))});
    }
    steps.push_back(keep(shell_word(file)));
    return steps;
  }
  const std::string kept = fmt::format("{}.jsonl", benchmark);
  if (is_there(kept) || this_command_line().empty()) return {};
  return {{"Measure again and keep the results, for other commands:", this_command_kept_in(kept)}};
}

std::vector<NextStep> steps_of_suite(const fs::path& out) {
  const std::string folder = shell_word(out.string());
  std::vector<NextStep> steps;
  if (is_there(out / "machine.json")) {
    if (!is_there(out / "report/index.html")) {
      steps.push_back({page_reason, fmt::format("dlscale report {} -o page", folder)});
    }
    steps.push_back({"Predict from them:",
                     fmt::format("dlscale predict --network resnet50 --machine {} --ranks 1..64:x2",
                                 shell_word((out / "machine.json").string()))});
  }
  steps.push_back(keep(folder));
  return steps;
}

std::vector<NextStep> steps_of_machine(const std::string& machine, const model::Machine& made,
                                       std::span<const ResultFile> files,
                                       const std::vector<std::string>& trained) {
  std::vector<NextStep> steps = steps_of_lacking(made);
  if (made.kernels.empty() || made.h2d.empty() || made.update.empty() || made.loaders.empty()) {
    return steps;  // an iteration needs them all
  }
  constexpr std::array<std::string_view, 4> axes{"network", "batch", "threads", "dtype"};
  if (const Measurement* row = named_convolution(files); row != nullptr) {
    steps.push_back(
        {"Predict from it:", fmt::format("dlscale predict{} --machine {} --ranks 1..64:x2",
                                         options_of(*row, axes), shell_word(machine))});
  }
  if (!trained.empty()) {
    steps.push_back({"Hold its predictions against the trainings that were measured:",
                     fmt::format("dlscale validate {} --machine {}", shell_line(trained),
                                 shell_word(machine))});
  }
  return steps;
}

std::vector<NextStep> steps_of_kernels(const std::string& kernels,
                                       const std::vector<std::string>& results,
                                       std::span<const ResultFile> files) {
  std::vector<NextStep> steps;
  constexpr std::array<std::string_view, 4> axes{"network", "batch", "threads", "cache"};
  if (const Measurement* row = named_convolution(files); row != nullptr) {
    steps.push_back({"Name the fastest algorithm for each convolution:",
                     fmt::format("dlscale select-algorithm{} --kernels {}", options_of(*row, axes),
                                 shell_word(kernels))});
  }
  steps.push_back({"Judge such models by shapes that they have not seen:",
                   fmt::format("dlscale roofline validate {}", shell_line(results))});
  return steps;
}

std::vector<NextStep> steps_of_convolutions(const std::vector<std::string>& results) {
  return {{"Fit models of these times, which name the fastest for each layer:",
           fmt::format("dlscale roofline fit {} -o kernels.json", shell_line(results))}};
}

std::vector<NextStep> steps_of_data(const std::string& folder) {
  return {{"Measure how fast a rank reads it:",
           fmt::format("dlscale bench io --data {} -o io.jsonl", shell_word(folder))},
          {"Train on it:",
           fmt::format("dlscale bench e2e --data {} -o e2e.jsonl", shell_word(folder))}};
}

std::vector<NextStep> steps_of_sound_machine(int cores) {
  if (cores < 2) return {};
  return {{"Measure this machine and predict from it, in half an hour:",
           "dlscale run quickstart -o results/local/quickstart"}};
}

std::vector<NextStep> steps_of_build() {
  return {{"See what this machine and build lack:", "dlscale doctor"},
          {"Predict a training:",
           "dlscale predict --network resnet50 --cluster p40x16 --ranks 1..16:x2"}};
}

std::vector<NextStep> steps_of_noise() {
  return {{"See what makes this machine noisy, and what to do about it:", "dlscale doctor"}};
}

}  // namespace dlscale::app
