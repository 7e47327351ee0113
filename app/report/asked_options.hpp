#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace dlscale::app {

/// The options that an answer in JSON was asked by ("options"), for further commands about the same
/// training.
class AskedOptions {
 public:
  /// The options of an answer; nothing if it states none, as answers of earlier versions.
  static std::optional<AskedOptions> of(const nlohmann::ordered_json& answer);
  [[nodiscard]] bool has(std::string_view name) const;
  /// Whether they ask for several trainings by anything but ranks, batches and schedules.
  [[nodiscard]] bool are_swept() const;
  /// Replaces the values of an option by one, or adds it.
  void set(std::string_view name, const std::string& value);
  void leave_out(std::string_view name) { options_.erase(std::string(name)); }
  /// "dlscale predict --network alexnet --cluster p40x16 --memory", quoted for a shell: the options
  /// that say what is trained and on what, as far as the verb has them and takes them beside the
  /// flag `question`, which may be empty.
  [[nodiscard]] std::string command(const std::string& verb,
                                    const std::string& question = "") const;
  /// The command with all options, as the answer was asked by the verb.
  [[nodiscard]] std::string again(const std::string& verb) const;

 private:
  explicit AskedOptions(nlohmann::ordered_json options) : options_(std::move(options)) {}
  nlohmann::ordered_json options_;  ///< name without dashes: list of values; empty for a flag
};

}  // namespace dlscale::app
