#include "backend/comm/connect.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "backend/comm/communicator.hpp"
#include "backend/comm/launch.hpp"
#include "core/base/error.hpp"
#include "core/system/input_file.hpp"

namespace dlscale::backend {
namespace {

const char* from_environment(const char* name) {
  return std::getenv(name);
}

std::string invocation() {
  return shell_text(content_of("/proc/self/cmdline"));
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

/// Debian and Ubuntu install several MPIs side by side; plain `mpirun` may be any of them.
std::string launcher_of(const std::string& library) {
  if (library.starts_with("Open MPI") && on_path("mpirun.openmpi")) return "mpirun.openmpi";
  if (library.starts_with("MPICH") && on_path("mpiexec.mpich")) return "mpiexec.mpich";
#ifdef DLSCALE_MPIEXEC
  return DLSCALE_MPIEXEC;
#else
  return {};
#endif
}

bool launched_alone() {
  const std::optional<Launch> launch = detect_launch(from_environment);
  return launch && launch->size == 1;
}

std::string reason_absent(std::string_view name) {
  for (const Absent& absent : family<CommBackend>().absent) {
    if (absent.name == name) return std::string(absent.reason);
  }
  return "not part of this build";
}

Unsupported lacking(std::string_view name) {
  return Unsupported(fmt::format(
      "{} started this program, but this build has no MPI backend ({}), so each rank would "
      "measure by itself. Install libopenmpi-dev or libmpich-dev and build again, or start it "
      "without the launcher.",
      detect_launch(from_environment)->launcher, reason_absent(name)));
}

/// The backend of launched_backend(), if this build has it.
const CommBackend& find_launched() {
  const Family<CommBackend> backends = family<CommBackend>();
  const std::string_view name = launched_backend();
  const CommBackend* backend = backends.find(name);
  // A single rank does not need communication.
  if (backend == nullptr && name == "mpi" && launched_alone()) backend = backends.find("local");
  if (backend == nullptr) throw lacking(name);
  return *backend;
}

/// Obstacle of NCCL for these ranks.
std::string nccl_obstacle(Communicator& launched) {
  const CommBackend* nccl = family<CommBackend>().find("nccl");
  if (nccl == nullptr) return fmt::format("not in this build ({})", reason_absent("nccl"));
  return nccl->obstacle_among(launched);
}

}  // namespace

std::string_view launched_backend() {
  return detect_launch(from_environment) ? "mpi" : "local";
}

std::unique_ptr<Communicator> connect_launched(int expected) {
  std::unique_ptr<Communicator> communicator = find_launched().connect();
  check_world(*communicator, expected);
  return communicator;
}

Connection connect_best(int expected, DataPlace gradients) {
  const CommBackend& launched = find_launched();
  Connection found{launched.connect(), std::string(launched.name), ""};
  check_world(*found.communicator, expected);
  const int ranks = found.communicator->size();
  if (found.name != "mpi" || gradients == DataPlace::host || ranks == 1) return found;
  const Choice choice =
      choose_communicator({.ranks = ranks,
                           .gradients = gradients,
                           .nccl_obstacle = nccl_obstacle(*found.communicator),
                           .mpi_takes_device_memory = found.communicator->takes_device_memory()});
  // The MPI ranks stay joined while the chosen communicator takes over.
  std::unique_ptr<Communicator> chosen = family<CommBackend>().find(choice.name)->connect();
  if (choice.name != "nccl") take_gpus(*chosen, gradients);  // NCCL assigns GPUs itself
  return {std::move(chosen), choice.name, choice.why};
}

void take_gpus(Communicator& ranks, DataPlace gradients, const CommBackend* backend) {
  if (gradients == DataPlace::host || ranks.size() == 1) return;
  if (backend == nullptr || backend->gpu_among == nullptr) return;
  if (const std::optional<int> gpu = backend->gpu_among(ranks)) ranks.take_gpu(*gpu);
}

void take_gpus(Communicator& ranks, DataPlace gradients) {
  take_gpus(ranks, gradients, family<CommBackend>().find("nccl"));
}

void check_world(const Communicator& communicator, int expected) {
  const std::string problem = world_problem({
      .library = communicator.library(),
      .size = communicator.size(),
      .launch = detect_launch(from_environment),
      .expected = expected > 0 ? expected : expected_ranks(from_environment),
      .mpiexec = launcher_of(communicator.library()),
      .invocation = invocation(),
  });
  if (!problem.empty()) throw LibraryError(problem);
}

Choice choose_communicator(const Prospects& prospects) {
  if (prospects.gradients == DataPlace::host || prospects.ranks == 1) return {"mpi", ""};
  if (prospects.nccl_obstacle.empty()) {
    return {"nccl", fmt::format("each of the {} ranks has a GPU of its own", prospects.ranks)};
  }
  if (prospects.mpi_takes_device_memory) {
    return {"mpi_cuda", fmt::format("this MPI takes memory of GPUs, and NCCL cannot be used: {}",
                                    prospects.nccl_obstacle)};
  }
  return {"mpi_staged",
          fmt::format("this MPI takes memory of the host only, and NCCL cannot be used: {}",
                      prospects.nccl_obstacle)};
}

}  // namespace dlscale::backend
