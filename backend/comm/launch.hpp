#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dlscale::backend {

/// Facts that a launcher of parallel programs left in the environment.
struct Launch {
  std::string launcher;  ///< "Open MPI's mpirun"
  std::string variable;  ///< where `size` was read
  int size = 0;          ///< number of ranks started; 0 if the launcher does not report it
};

/// Value of an environment variable, or nullptr.
using Lookup = std::function<const char*(const char*)>;

/// Nothing if the program was started without a launcher. If one launcher started another (srun
/// starts the daemons of mpirun), the variables of both exist and the inner one counts.
std::optional<Launch> detect_launch(const Lookup& lookup);

/// Environment variable in which the caller of a program states the expected number of ranks,
/// independently of the launcher's variables.
inline constexpr const char* expected_ranks_variable = "_DLSCALE_RANKS";

/// Value of expected_ranks_variable; 0 if it is not set or not a number.
int expected_ranks(const Lookup& lookup);

/// Facts that check_world() compares.
struct World {
  std::string library;  ///< Communicator::library()
  int size = 1;
  std::optional<Launch> launch;
  int expected = 0;        ///< 0: not given
  std::string mpiexec;     ///< the launcher of this build's MPI; empty in a build without MPI
  std::string invocation;  ///< this program and its arguments, as typed
};

/// One or two sentences about a mismatch, with the command to type; empty if all agree.
std::string world_problem(const World& world);

/// Arguments joined so that a shell would read them back (core/text/shell_words.hpp).
std::string shell_text(std::string_view nul_separated);

}  // namespace dlscale::backend
