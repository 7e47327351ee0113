#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace dlscale::app {

/// --global-batch of predict and plan: images of an iteration on all ranks, of which each takes an
/// equal share (strong scaling).
struct GlobalBatchOption {
  std::string text;
  /// After --batch, which it stands in place of.
  void declare(CLI::App& verb);
  /// Nothing where it was not asked for. Throws ConfigError.
  [[nodiscard]] std::optional<std::int64_t> find() const;
};

/// A whole number of images, from 1 to a thousand million. Throws ConfigError naming the option.
std::int64_t counted_images(std::string_view option, std::string_view text);

/// Images of a rank. Throws ConfigError where they are no whole number, or more than a rank takes.
int share_of(std::int64_t global_batch, int ranks);

}  // namespace dlscale::app
