#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "backend/comm/communicator.hpp"
#include "backend/comm/launch.hpp"
#include "core/error.hpp"

namespace dlscale::backend {
namespace {

const char* from_environment(const char* name) {
  return std::getenv(name);
}

std::string invocation() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return shell_text(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(folder) / program, none)) return true;
  }
  return false;
}

/// Debian and Ubuntu install several MPIs side by side, where plain `mpirun` is any of them.
std::string launcher_of(const std::string& library) {
  if (library.starts_with("Open MPI") && on_path("mpirun.openmpi")) return "mpirun.openmpi";
  if (library.starts_with("MPICH") && on_path("mpiexec.mpich")) return "mpiexec.mpich";
#ifdef DLSCALE_MPIEXEC
  return DLSCALE_MPIEXEC;
#else
  return {};
#endif
}

std::string reason_absent(std::string_view name) {
  for (const Absent& absent : family<CommBackend>().absent) {
    if (absent.name == name) return std::string(absent.reason);
  }
  return "not part of this build";
}

}  // namespace

std::string_view launched_backend() {
  return detect_launch(from_environment) ? "mpi" : "local";
}

std::unique_ptr<Communicator> connect_launched(int expected) {
  const std::optional<Launch> launch = detect_launch(from_environment);
  const Family<CommBackend> backends = family<CommBackend>();
  const CommBackend* backend = backends.find(launched_backend());
  // A single rank needs nobody to talk to.
  if (backend == nullptr && launch->size == 1) backend = backends.find("local");
  if (backend == nullptr) {
    throw Unsupported(fmt::format(
        "{} started this program, but this build has no MPI backend ({}), so each rank would "
        "measure by itself. Install libopenmpi-dev or libmpich-dev and build again, or start it "
        "without the launcher.",
        launch->launcher, reason_absent("mpi")));
  }
  std::unique_ptr<Communicator> communicator = backend->connect();
  check_world(*communicator, expected);
  return communicator;
}

void check_world(const Communicator& communicator, int expected) {
  const std::string problem = world_problem({
      .library = communicator.library(),
      .size = communicator.size(),
      .launch = detect_launch(from_environment),
      .expected = expected,
      .mpiexec = launcher_of(communicator.library()),
      .invocation = invocation(),
  });
  if (!problem.empty()) throw ConfigError(problem);
}

}  // namespace dlscale::backend
