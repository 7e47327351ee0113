#pragma once
#include <string>
#include <string_view>
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

/// --framework of predict and plan: a profile of configs/frameworks gives the values that were not
/// typed.
struct FrameworkOption {
  std::string name;
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !name.empty(); }
  /// The values of the profile for a training of `network` by these options, and its notes.
  /// `question` needs what the options do not say. Throws ConfigError.
  [[nodiscard]] FrameworkChoice choice(const Network& network, const TrainingOptions& options,
                                       FrameworkQuestion question) const;
};

}  // namespace dlscale::app
