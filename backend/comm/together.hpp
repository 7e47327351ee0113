#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

/// How a piece of work ended on the worst of all ranks. They exchange it, so that all stop where
/// one must.
struct Ending {
  std::int32_t exit_code = 0;  ///< of an ExitCode
  std::int32_t signal = 0;
  std::string cause;  ///< what the first rank that failed says, with its number
  [[nodiscard]] bool stops() const { return exit_code != 0 || signal != 0; }
};

/// Of an ExitCode; 0 where nothing failed, that of a wrong result for exceptions not our own.
std::int32_t exit_code_of(const std::exception_ptr& failure);

/// Collective. `mine` is null where this rank did not fail; pending signals count too.
Ending agree(Communicator& communicator, const std::exception_ptr& mine);

/// If `ending` stops: throws `mine` (as an Error if it is a LibraryError, which only one rank knows
/// of: see core/base/ranks_apart.hpp), or Interrupted, or an Error with the exit code and the message
/// of the rank that failed (Unsupported if it threw that, so that all ranks catch it in the same
/// place). The launcher ends all ranks when the first one leaves, so each must be able to say why.
void throw_if_ended(const Ending& ending, const std::exception_ptr& mine);

/// Collective: runs `work`, which is local to a rank, on every rank and throws on all if it throws
/// on one. For what may fail between two collective calls: a file to read, memory, a library. What
/// is no Error of ours, such as std::bad_alloc, stays what it is on its rank, for which the program
/// has a sentence, and takes it out of step (core/base/ranks_apart.hpp).
void together(Communicator& communicator, const std::function<void()>& work);

/// What all of several ranks threw, in the same words: bad input that every rank was given, or that
/// rank 0 found for all. So one of them can say it for all.
struct FoundByAll : Error {
  using Error::Error;
};

/// Collective: as together(), but throws FoundByAll where that is what happened.
void together_on_input(Communicator& communicator, const std::function<void()>& work);

/// Collective: runs `work` on rank 0 alone. If it throws there, throws FoundByAll with its message
/// on all ranks; with one rank, what it threw.
void on_first_rank(Communicator& communicator, const std::function<void()>& work);

}  // namespace dlscale::backend
