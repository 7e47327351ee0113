#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/framework_choice.hpp"
#include "app/options/training_options.hpp"
#include "core/network/network.hpp"
#include "core/run/framework_file.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The profile that `text` names: by its id, also in words ("horovod 0.19"), or by the beginning of
/// an id ("horovod"), where the latest versions win. It may also equal a `match` without a star
/// ("horovod 0.20"). Throws ConfigError with similar names.
const FrameworkProfile& asked_framework(const std::vector<FrameworkProfile>& profiles,
                                        std::string_view text);

/// Whether the command line has the option; false if the verb lacks it.
bool is_by_hand(const CLI::App& verb, std::string_view option);

/// --framework of predict and plan: a profile of configs/frameworks sets the options that are not
/// explicit.
struct FrameworkOption {
  std::string name;
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !name.empty(); }
  /// Sets the values that the profile has for `options`, and its notes; returns its values for
  /// other options. `by_hand` needs schedules, synchronisations and usual_schedules; `verb` knows
  /// which other options were given. Throws ConfigError.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> follow(
      const CLI::App& verb, const Network& network, AskedByHand by_hand,
      TrainingOptions& options) const;
};

}  // namespace dlscale::app
