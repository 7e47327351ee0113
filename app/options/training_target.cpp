#include "app/options/training_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const model::TrainingTarget& target : model::training_targets) {
    names.emplace_back(target.name);
  }
  return names;
}

std::string known_targets() {
  std::vector<std::string> texts;
  for (const model::TrainingTarget& target : model::training_targets) {
    texts.push_back(fmt::format("{} ({}, {})", target.name, target.network, target.reached));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

namespace {

/// A number above 0 and at most 1e12.
double number_of(std::string_view text, std::string_view whole) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value > 0 && value <= 1e12) return value;
  throw ConfigError(
      fmt::format("--epochs-at has \"{}\" (a global batch and the epochs it took, both above 0). "
                  "Write such as 8192=64.",
                  shown_text(whole)));
}

}  // namespace

model::Convergence fitted_epochs(const std::vector<std::string>& points) {
  std::vector<model::EpochsAt> read;
  for (const std::string& text : points) {
    const std::string_view whole(text);
    const std::size_t sign = std::min(whole.find('='), whole.size());
    const std::string_view epochs = whole.substr(std::min(sign + 1, whole.size()));
    read.push_back({number_of(whole.substr(0, sign), whole), number_of(epochs, whole)});
  }
  const auto other_batch = [&](const model::EpochsAt& one) {
    return one.batch != read.front().batch;
  };
  if (std::ranges::none_of(read, other_batch)) {
    throw ConfigError(
        "--epochs-at names one global batch, and epochs by batch need two. Add what another batch "
        "took, or say --epochs.");
  }
  return model::fit_convergence(read);
}

const model::TrainingTarget& find_target(std::string_view name, std::string_view network) {
  for (const model::TrainingTarget& target : model::training_targets) {
    if (target.name != name) continue;
    if (network.starts_with(target.network)) return target;
    throw ConfigError(fmt::format(
        "--target {} is known for {} alone, and this is {}. Say how long training takes with "
        "--epochs and --samples.",
        name, target.network, network));
  }
  throw ConfigError(
      fmt::format("--target {} is no training whose epochs by batch are known. {} Or state them: "
                  "--epochs 90.",
                  shown_text(name), suggestion(name, target_names())));
}

}  // namespace dlscale::app
