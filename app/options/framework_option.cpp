#include "app/options/framework_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "app/cli/foreign_words.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::app {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return result;
}

/// The profile of a framework with the latest first version.
const FrameworkProfile* latest(const std::vector<const FrameworkProfile*>& profiles) {
  const auto is_later = [](const FrameworkProfile* one, const FrameworkProfile* other) {
    return one->since && (!other->since || *other->since < *one->since);
  };
  for (const FrameworkProfile* one : profiles) {
    const bool is_last = std::ranges::all_of(profiles, [&](const FrameworkProfile* other) {
      return other == one || is_later(one, other);
    });
    if (is_last) return one;
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::vector<FrameworkProfile>& profiles, std::string_view text) {
  if (const std::string advice = advice_on_value("--framework", std::string(text));
      !advice.empty()) {
    throw ConfigError(fmt::format("--framework {}: {}", escape_for_terminal(text), advice));
  }
  std::vector<std::string> ids;
  for (const FrameworkProfile& profile : profiles) ids.push_back(profile.id);
  const std::string name = lower(text.substr(0, text.find_first_of(" _")));
  std::vector<std::string> of_that_name;
  for (const FrameworkProfile& profile : profiles) {
    if (!profile.id.starts_with(name)) continue;
    of_that_name.push_back(fmt::format("{} ({} {})", profile.id, profile.name, profile.versions));
  }
  if (!name.empty() && !of_that_name.empty()) {
    throw ConfigError(fmt::format("--framework {} is none of {}. Name one of them.",
                                  escape_for_terminal(text), fmt::join(of_that_name, ", ")));
  }
  std::string near = suggestion(text, ids);
  if (!near.starts_with("Did")) {
    for (const FrameworkProfile& profile : profiles) {
      const std::string beginning = profile.id.substr(0, profile.id.find('_'));
      if (edit_distance(name, beginning) > 2 || name.size() < 4) continue;
      near = fmt::format("Did you mean \"{}\"? {}", profile.id, near);
      break;
    }
  }
  throw ConfigError(fmt::format("--framework {} is not a profile in configs/frameworks. {}",
                                escape_for_terminal(text), near));
}

Bytes gradients_of(const Network& network) {
  constexpr double gradient_bytes = 4;
  return Bytes(gradient_bytes * static_cast<double>(network.parameter_count()));
}

bool is_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml");
}

}  // namespace

const FrameworkProfile& asked_framework(const std::vector<FrameworkProfile>& profiles,
                                        std::string_view text) {
  const std::string words = lower(text);
  std::string id = words;
  std::ranges::replace(id, ' ', '_');
  std::vector<const FrameworkProfile*> begun;
  for (const FrameworkProfile& profile : profiles) {
    if (profile.id == id) return profile;
    if (!id.empty() && profile.id.starts_with(id + "_")) begun.push_back(&profile);
  }
  if (const FrameworkProfile* const last = latest(begun)) return *last;
  const FrameworkProfile* const named =
      begun.empty() ? find_framework(profiles, words, ReleaseMonth{9999, 12}) : nullptr;
  if (named && std::ranges::find(named->match, words) != named->match.end()) return *named;
  refuse(profiles, text);
}

void FrameworkOption::declare(CLI::App& verb) {
  verb.add_option("--framework", name,
                  "Profile in configs/frameworks, or a file, for what is not typed")
      ->type_name("FRAMEWORK");
}

FrameworkChoice FrameworkOption::choice(const Network& network, const TrainingOptions& options,
                                        FrameworkQuestion question) const {
  const FrameworkProfile profile =
      is_file(name) ? load_framework(name) : asked_framework(load_frameworks(), name);
  const model::Machine machine = options.find_machine(options.inter_node.each().front());
  question.typed = options.values;
  question.cluster = &machine.cluster;
  question.fitted = machine.fitted;
  question.gradients = gradients_of(network);
  return framework_choice(profile, question);
}

}  // namespace dlscale::app
