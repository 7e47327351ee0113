#include "app/report/asked_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/cli/verb.hpp"
#include "core/base/error.hpp"
#include "core/text/shell_words.hpp"

namespace dlscale::app {
namespace {

/// Options that choose what is answered, which another question leaves out.
constexpr std::array<std::string_view, 21> of_question{"memory",
                                                       "fits",
                                                       "explain",
                                                       "limits",
                                                       "layers",
                                                       "notes",
                                                       "trace",
                                                       "out-of-core",
                                                       "epochs",
                                                       "target",
                                                       "epochs-at",
                                                       "tokens",
                                                       "samples",
                                                       "evaluation",
                                                       "evaluations-per-epoch",
                                                       "start",
                                                       "cost-per-gpu-hour",
                                                       "mtbf",
                                                       "checkpoint-every",
                                                       "spares",
                                                       "power"};

/// Options of which a list of values asks for several trainings.
constexpr std::array<std::string_view, 7> swept{
    "inter-node-bandwidth", "inter-node-latency", "servers", "synchronisation",
    "all-reduce",           "bucket",             "sharding"};

}  // namespace

std::optional<AskedOptions> AskedOptions::of(const nlohmann::ordered_json& answer) {
  const auto options = answer.find("options");
  if (options == answer.end() || !options->is_object()) return std::nullopt;
  return AskedOptions(*options);
}

bool AskedOptions::has(std::string_view name) const {
  return options_.contains(std::string(name));
}

bool AskedOptions::are_swept() const {
  return std::ranges::any_of(swept, [this](std::string_view name) {
    const auto values = options_.find(std::string(name));
    if (values == options_.end()) return false;
    return std::ranges::any_of(*values, [](const auto& value) {
      const auto text = value.template get<std::string>();
      return text.find(',') != std::string::npos || text.find("..") != std::string::npos;
    });
  });
}

void AskedOptions::set(std::string_view name, const std::string& value) {
  options_[std::string(name)] = {value};
}

std::string AskedOptions::command(const std::string& verb, const std::string& question) const {
  CLI::App table;
  ExitCode unused{};
  family<Verb>().find(verb)->declare(table, unused);
  CLI::Option* const asked = question.empty() ? nullptr : table.get_option("--" + question);
  AskedOptions kept = *this;
  for (const auto& [name, values] : options_.items()) {
    CLI::Option* const option = table.get_option_no_throw("--" + name);
    const bool is_asked = std::ranges::find(of_question, name) != of_question.end();
    const bool is_excluded = asked != nullptr && asked->get_excludes().contains(option);
    if (option == nullptr || is_asked || is_excluded) kept.leave_out(name);
  }
  return kept.again(verb) + (asked == nullptr ? "" : " --" + question);
}

std::string AskedOptions::again(const std::string& verb) const {
  std::string line = "dlscale " + verb;
  for (const auto& [name, values] : options_.items()) {
    if (values.empty()) line += " --" + name;
    for (const auto& value : values) {
      line += fmt::format(" --{} {}", name, shell_word(value.get<std::string>()));
    }
  }
  return line;
}

}  // namespace dlscale::app
