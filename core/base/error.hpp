#pragma once
#include <exception>
#include <stdexcept>
#include <string>

namespace dlscale {

/// Exit codes of the program; the same numbers for every verb.
enum class ExitCode : int {
  ok = 0,
  regression = 1,  ///< a regression, or a validation that failed
  bad_input = 2,   ///< bad usage, configuration, file or output location
  inconclusive = 3,
  wrong_result = 4,  ///< a crash, a lost rank, a library failure or a wrong answer
  nothing_measured = 5,
  not_built = 6,      ///< a backend or feature this build lacks
  interrupted = 130,  ///< SIGINT; partial results are kept
  terminated = 143,   ///< SIGTERM; partial results are kept
};

/// An error the user can act on. The message has one or two sentences: the problem, why it matters,
/// the remedy. Caught once, in main.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The user's input is wrong: usage, configuration, data set, unwritable directory, full disk.
struct ConfigError : Error {
  explicit ConfigError(const std::string& message) : Error(ExitCode::bad_input, message) {}
};

/// A computed result differs from the reference; no speed is printed for it.
struct WrongResult : Error {
  explicit WrongResult(const std::string& message) : Error(ExitCode::wrong_result, message) {}
};

/// A library call failed; the message names the call, its code and the rank or shape.
struct LibraryError : Error {
  explicit LibraryError(const std::string& message) : Error(ExitCode::wrong_result, message) {}
};

/// A backend, operation or data type that this build or library version does not offer.
struct Unsupported : Error {
  explicit Unsupported(const std::string& message) : Error(ExitCode::not_built, message) {}
};

/// A signal stopped the work; the result file holds the measurements so far.
struct Interrupted : Error {
  explicit Interrupted(int signal)
      : Error(signal == 2 ? ExitCode::interrupted : ExitCode::terminated,
              "interrupted; the results so far are kept") {}
};

/// Reports a broken precondition, which is a bug in dlscale, with the place of the call. Throws
/// std::logic_error. The place comes from builtins, because Debian 12's clang-tidy does not know
/// std::source_location.
[[noreturn]] void fail_expectation(const char* condition, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE());

#define EXPECT(condition)                                      \
  do {                                                         \
    if (!(condition)) ::dlscale::fail_expectation(#condition); \
  } while (false)

/// Whether `failure`, which one rank met in collective work, may have taken it out of step with the
/// others. That is so if a library failed, or an exception is not an Error of ours, within a call
/// that the others are still in. They never reach the call that would report the failure, so the
/// rank must not make any. It lets the failure unwind, its links are broken off, and the watchdog
/// ends the others. Other errors occur before or after a call, and the next call reports them.
inline bool is_collective_failure(const std::exception_ptr& failure) {
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
