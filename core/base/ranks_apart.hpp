#pragma once
#include <exception>

#include "core/base/error.hpp"

namespace dlscale {

/// Whether `failure`, which one rank met in collective work, may have taken it out of step with the
/// others. That is so if a library failed, or an exception is not an Error of ours, within a call
/// that the others are still in. They never reach the call that would report the failure, so the
/// rank must not make any. It lets the failure unwind, its links are broken off, and the watchdog
/// ends the others. Other errors occur before or after a call, and the next call reports them.
inline bool leaves_ranks_apart(const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const LibraryError&) {
    return true;
  } catch (const Error&) {
    return false;
  } catch (...) {
    return true;
  }
}

}  // namespace dlscale
