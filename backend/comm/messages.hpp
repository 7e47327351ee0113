#pragma once
#include <cstddef>
#include <span>

#include "core/base/ids.hpp"

namespace dlscale::backend {

/// One of several messages that travel at once.
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

/// Messages that travel at once, again and again from and to the same memory: start(), then wait(),
/// or test() until it says that all are sent and received. Others may be under way meanwhile.
/// Throws LibraryError.
class PreparedExchange {
 public:
  virtual ~PreparedExchange() = default;
  virtual void start() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual bool test() = 0;
  /// Once, where it is started and not known to be done: gives it up. Receives nothing more, and
  /// waits for nobody but who is sending at this moment. Returns whether all is sent: if not, what
  /// was to be sent is read until it is, so that its memory must stay for good.
  [[nodiscard]] virtual bool leave() = 0;
};

}  // namespace dlscale::backend
