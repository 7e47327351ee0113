#pragma once
#include <stdexcept>
#include <string>

namespace dlscale {

/// Exit codes of the program; the same numbers for every verb.
enum class ExitCode : int {
  ok = 0,
  regression = 1,  ///< a regression, or a validation that failed
  bad_input = 2,   ///< bad usage, configuration, file or place to write
  inconclusive = 3,
  wrong_result = 4,  ///< a crash, a lost rank, a library failure or a wrong answer
  nothing_measured = 5,
  not_built = 6,      ///< a backend or feature this build lacks
  interrupted = 130,  ///< SIGINT; partial results are kept
  terminated = 143,   ///< SIGTERM; partial results are kept
};

/// An error the user can act on. The message is one sentence or two: the problem, why it matters,
/// what to do. Caught once, in main.
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

/// A computed answer differs from the reference: no speed is printed for it.
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

/// Work stopped on a signal; what was measured so far is in the result file.
struct Interrupted : Error {
  explicit Interrupted(int signal)
      : Error(signal == 2 ? ExitCode::interrupted : ExitCode::terminated,
              "interrupted; the results so far are kept") {}
};

/// The caller broke a precondition: a bug in dlscale, reported with the place of the call (by
/// builtins: Debian 12's clang-tidy does not know std::source_location). Throws std::logic_error.
[[noreturn]] void fail_expectation(const char* condition, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE());

#define EXPECT(condition)                                      \
  do {                                                         \
    if (!(condition)) ::dlscale::fail_expectation(#condition); \
  } while (false)

}  // namespace dlscale
