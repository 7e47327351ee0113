#include "backend/comm/launch.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "core/text/shell_words.hpp"

namespace dlscale::backend {
namespace {

struct Mark {
  const char* variable;
  const char* size_variable;  ///< nullptr: this launcher does not report the size
  const char* launcher;
};

// Open MPI: mpirun(1), "Environment variables". PMI_SIZE and MPI_LOCALNRANKS: Hydra, the launcher
// of MPICH, MVAPICH2 and Intel MPI. PMIX_RANK: any launcher that speaks PMIx. SLURM_*: srun(1).
// JSM_NAMESPACE_*: IBM's jsrun. PALS_RANKID: HPE's mpiexec and aprun. FLUX_*: flux-environment(7).
constexpr std::array marks{
    Mark{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
    Mark{"PMI_SIZE", "PMI_SIZE", "MPICH's mpiexec"},
    Mark{"PMI_RANK", "SLURM_STEP_NUM_TASKS", "a PMI launcher"},
    Mark{"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "a PMIx launcher"},
    Mark{"MPI_LOCALNRANKS", nullptr, "MPICH's mpiexec"},
};

/// Advice for a launcher and an MPI that do not work together: the part that is probably missing.
std::string remedy(const Launch& launch) {
  const bool by_slurm = launch.variable.starts_with("SLURM_");
  if (by_slurm) {
    return " Or let srun join them: give it --mpi=pmix or --mpi=pmi2, whichever of \"srun "
           "--mpi=list\" this MPI was built with.";
  }
  if (launch.variable.starts_with("FLUX_")) {
    return " Or let Flux join them: give \"flux run\" -o pmi=pmix or -o pmi=simple, whichever this "
           "MPI was built with.";
  }
  return {};
}

int positive_number(const char* text) {
  if (text == nullptr) return 0;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  const bool whole = error == std::errc{} && end == view.data() + view.size();
  return whole && value > 0 ? value : 0;
}

bool same_family(const World& world) {
  return world.library.starts_with("Open MPI") == world.launch->launcher.starts_with("Open MPI");
}

std::string how_to_start(const World& world, int ranks) {
  if (world.mpiexec.empty()) {
    return fmt::format(
        "This build has no MPI: install libopenmpi-dev or libmpich-dev, build again and type: "
        "mpirun -n {} {}",
        ranks, world.invocation);
  }
  return fmt::format("Type: {} -n {} {}", world.mpiexec, ranks, world.invocation);
}

std::string launcher_problem(const World& world) {
  const Launch& launch = *world.launch;
  const std::string seen = fmt::format("{} started {} ranks ({}={}), but ", launch.launcher,
                                       launch.size, launch.variable, launch.size);
  const std::string why = same_family(world)
                              ? "perhaps the launcher is of another version or the two share no PMI"
                              : "that library does not understand this launcher";
  return fmt::format("{}{} in this program sees {}: {}, so each would measure by itself. {}{}",
                     seen, world.library, world.size, why, how_to_start(world, launch.size),
                     remedy(launch));
}

}  // namespace

std::optional<Launch> detect_launch(const Lookup& lookup) {
  for (const Mark& mark : marks) {
    if (lookup(mark.variable) == nullptr) continue;
    if (mark.size_variable == nullptr) return Launch{mark.launcher, mark.variable, 0};
    return Launch{mark.launcher, mark.size_variable, positive_number(lookup(mark.size_variable))};
  }
  // A batch script and its single-task steps have Slurm's variables without being parallel.
  const int tasks = positive_number(lookup("SLURM_STEP_NUM_TASKS"));
  if (tasks > 1 && lookup("SLURM_PROCID") != nullptr) {
    return Launch{"Slurm's srun", "SLURM_STEP_NUM_TASKS", tasks};
  }
  if (lookup("JSM_NAMESPACE_RANK") != nullptr) {
    return Launch{"jsrun", "JSM_NAMESPACE_SIZE", positive_number(lookup("JSM_NAMESPACE_SIZE"))};
  }
  if (lookup("PALS_RANKID") != nullptr) return Launch{"PALS", "PALS_RANKID", 0};
  const int flux_tasks = positive_number(lookup("FLUX_JOB_SIZE"));
  if (flux_tasks > 1 && lookup("FLUX_TASK_RANK") != nullptr) {
    return Launch{"flux run", "FLUX_JOB_SIZE", flux_tasks};
  }
  return std::nullopt;
}

int expected_ranks(const Lookup& lookup) {
  return positive_number(lookup(expected_ranks_variable));
}

std::string world_problem(const World& world) {
  if (world.launch && world.launch->size > 0 && world.launch->size != world.size) {
    return launcher_problem(world);
  }
  if (world.expected > 0 && world.expected != world.size) {
    return fmt::format("{} ranks were asked for, but {} {} here. {}", world.expected, world.size,
                       world.size == 1 ? "runs" : "run", how_to_start(world, world.expected));
  }
  return {};
}

std::string shell_text(std::string_view nul_separated) {
  std::string text;
  while (!nul_separated.empty()) {
    const std::string_view word = nul_separated.substr(0, nul_separated.find('\0'));
    nul_separated.remove_prefix(std::min(word.size() + 1, nul_separated.size()));
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

}  // namespace dlscale::backend
