#pragma once
#include <cstdint>
#include <optional>
#include <string>

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

/// Images of a rank. Throws ConfigError where they are no whole number.
int share_of(std::int64_t global_batch, int ranks);

}  // namespace dlscale::app
