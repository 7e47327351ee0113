#pragma once
#include <cstdint>
#include <exception>
#include <functional>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// How a piece of work ended on the worst of all ranks. They exchange it, so that all stop where
/// one must.
struct Ending {
  std::int32_t exit_code = 0;  ///< of an ExitCode
  std::int32_t signal = 0;
  [[nodiscard]] bool stops() const { return exit_code != 0 || signal != 0; }
};

/// Collective. `mine` is null where this rank did not fail; pending signals count too.
Ending agree(backend::Communicator& communicator, const std::exception_ptr& mine);

/// If `ending` stops: throws `mine`, or Interrupted, or an Error with the exit code of the rank
/// that failed.
void throw_if_ended(const Ending& ending, const std::exception_ptr& mine);

/// Collective: runs `work` on every rank and throws on all if it throws on one.
void together(backend::Communicator& communicator, const std::function<void()>& work);

}  // namespace dlscale::bench
