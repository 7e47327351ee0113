#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace dlscale::app {

/// --global-batch of predict and plan: images of an iteration on all ranks, in equal shares (strong
/// scaling).
struct GlobalBatchOption {
  std::string text;
  /// Declares the option; call it after --batch, which it replaces.
  void declare(CLI::App& verb);
  /// Nothing if it was not given. Throws ConfigError.
  [[nodiscard]] std::optional<std::int64_t> find() const;
};

/// A whole number of images, from 1 to 1e9. Throws ConfigError naming the option.
std::int64_t counted_images(std::string_view option, std::string_view text);

/// Images of one rank. Throws ConfigError if the share is not whole, or exceeds the limit of a
/// rank.
int share_of(std::int64_t global_batch, int ranks);

}  // namespace dlscale::app
