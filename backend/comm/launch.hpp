#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dlscale::backend {

/// What a launcher of parallel programs left in the environment.
struct Launch {
  std::string launcher;  ///< "Open MPI's mpirun"
  std::string variable;  ///< where `size` was read
  int size = 0;          ///< ranks started; 0 if the launcher does not tell
};

/// Value of an environment variable, or nullptr.
using Lookup = std::function<const char*(const char*)>;

/// Nothing if the program was started without a launcher. A launcher that starts another one (srun
/// that starts the daemons of mpirun) leaves its variables too: the inner one counts.
std::optional<Launch> detect_launch(const Lookup& lookup);

/// The environment variable by which whoever starts a program says of how many ranks it is to be,
/// beside what a launcher tells.
inline constexpr const char* expected_ranks_variable = "_DLSCALE_RANKS";

/// What was asked for so; 0 if nothing was, or it is no number.
int expected_ranks(const Lookup& lookup);

/// What check_world() compares.
struct World {
  std::string library;  ///< Communicator::library()
  int size = 1;
  std::optional<Launch> launch;
  int expected = 0;        ///< 0: not asked
  std::string mpiexec;     ///< the launcher of this build's MPI; empty in a build without MPI
  std::string invocation;  ///< this program and its arguments, as typed
};

/// One or two sentences about a mismatch, with the command to type; empty if all agree.
std::string world_problem(const World& world);

/// Arguments joined so that a shell would read them back (core/text/shell_words.hpp).
std::string shell_text(std::string_view nul_separated);

}  // namespace dlscale::backend
