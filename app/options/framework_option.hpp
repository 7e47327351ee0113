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

/// The profile of `profiles` that `text` means: by its id, in words too ("horovod 0.19"); by the
/// beginning of one, and of several the one of the latest versions ("horovod"); or by all of one of
/// its `match` without a star ("horovod 0.20"). Throws ConfigError with those that are near.
const FrameworkProfile& asked_framework(const std::vector<FrameworkProfile>& profiles,
                                        std::string_view text);

/// Whether the command line has the option, if the verb knows it.
bool is_by_hand(const CLI::App& verb, std::string_view option);

/// --framework of predict and plan: a profile of configs/frameworks says what is not said by hand.
struct FrameworkOption {
  std::string name;
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !name.empty(); }
  /// Sets of `options` what the profile says of them, and what of it is to be told; returns what it
  /// says of other options. `by_hand` needs schedules, synchronisations and usual_schedules;
  /// whether another option was given, `verb` knows. Throws ConfigError.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> follow(
      const CLI::App& verb, const Network& network, AskedByHand by_hand,
      TrainingOptions& options) const;
};

}  // namespace dlscale::app
