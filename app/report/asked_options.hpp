#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace dlscale::app {

/// The options that an answer in JSON was asked by ("options"), as words of a further command.
class AskedOptions {
 public:
  /// The options of an answer; nothing if it states none, as answers of earlier versions.
  static std::optional<AskedOptions> of(const nlohmann::ordered_json& answer);
  [[nodiscard]] bool has(std::string_view name) const;
  /// Whether any of the options has several values, or a sweep of them.
  [[nodiscard]] bool sweeps(std::span<const std::string_view> names) const;
  /// Replaces the values of an option by one, or adds it.
  void set(std::string_view name, const std::string& value);
  /// " --network alexnet --cluster p40x16": the options with these names, quoted for a shell.
  [[nodiscard]] std::string words(std::span<const std::string_view> names) const;

 private:
  explicit AskedOptions(nlohmann::ordered_json options) : options_(std::move(options)) {}
  nlohmann::ordered_json options_;  ///< name without dashes: list of values; empty for a flag
};

}  // namespace dlscale::app
