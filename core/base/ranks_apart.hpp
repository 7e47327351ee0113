#pragma once
#include <exception>

#include "core/base/error.hpp"

namespace dlscale {

/// Whether `failure`, which one rank met in work that all do together, may have taken it out of
/// step with the others: a library failed, or something that is no Error of ours, in the midst of a
/// call that they are still in. They never come to a call by which it would tell them, so it must
/// make none: it lets the failure unwind, its links are broken off, and the watchdog ends the
/// others. Other errors come before a call or after it, and are told by the next.
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
