#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

/// The worst outcome of a piece of work on all ranks. The ranks exchange it, so that all stop if
/// one must.
struct Ending {
  std::int32_t exit_code = 0;  ///< an ExitCode
  std::int32_t signal = 0;
  std::string cause;  ///< message of the first rank that failed, with its number
  [[nodiscard]] bool stops() const { return exit_code != 0 || signal != 0; }
};

/// The ExitCode for a failure: 0 without one, wrong_result for exceptions that are not an Error.
std::int32_t exit_code_of(const std::exception_ptr& failure);

/// Collective. `mine` is null if this rank did not fail; pending signals count too.
Ending agree(Communicator& communicator, const std::exception_ptr& mine);

/// If `ending` stops: throws `mine`, or Interrupted, or an Error with the exit code and the message
/// of the failed rank. A LibraryError, which only one rank knows of, is thrown as an Error (see
/// core/base/error.hpp). An Unsupported remains Unsupported, so that all ranks catch it in
/// the same place. The launcher ends all ranks when the first one leaves, so each must be able to
/// report why.
void throw_if_ended(const Ending& ending, const std::exception_ptr& mine);

/// Collective: runs the local `work` on every rank and throws on all if it throws on one. For work
/// that may fail between two collective calls: reading a file, memory, a library. An exception that
/// is not an Error, for example std::bad_alloc, is rethrown on its rank only. The program reports
/// it there, and the rank falls out of step (core/base/error.hpp).
void together(Communicator& communicator, const std::function<void()>& work);

/// An error that all of several ranks threw in the same words: bad input that every rank received,
/// or that rank 0 found for all. So one rank can report it for all.
struct FoundByAll : Error {
  using Error::Error;
};

/// Collective: as together(), but throws FoundByAll if all ranks found the same error.
void together_on_input(Communicator& communicator, const std::function<void()>& work);

/// Collective: runs `work` on rank 0 alone. If it throws there, throws FoundByAll with its message
/// on all ranks; with one rank, rethrows the exception.
void on_first_rank(Communicator& communicator, const std::function<void()>& work);

}  // namespace dlscale::backend
