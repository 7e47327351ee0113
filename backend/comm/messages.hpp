#pragma once
#include <cstddef>
#include <span>

#include "core/base/ids.hpp"

namespace dlscale::backend {

/// One of several messages that travel concurrently.
struct Outgoing {
  std::span<const std::byte> data;
  Rank to = 0;
  int tag = 0;
};
struct Incoming {
  std::span<std::byte> data;
  Rank from = 0;
  int tag = 0;
};

/// Messages that travel concurrently and repeatedly, from and to the same memory: start(), then
/// wait(), or test() until it returns true. Other exchanges may be under way meanwhile. Throws
/// LibraryError.
class PreparedExchange {
 public:
  virtual ~PreparedExchange() = default;
  virtual void start() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual bool test() = 0;
  /// Abandons a started exchange that is not known to be done; call it once. It receives nothing
  /// more, and waits only for ranks that are sending at this moment. Returns whether all messages
  /// are sent. If not, their memory is read until they are, so it must never be freed.
  [[nodiscard]] virtual bool leave() = 0;
};

}  // namespace dlscale::backend
