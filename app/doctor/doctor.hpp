#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "core/system/process.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// ok: nothing to do. unavailable: it cannot be determined here, with the reason. warning: it
/// disturbs measurements or training. missing: this machine or build lacks it.
enum class FindingState { ok, unavailable, warning, missing };

/// The result of one check of dlscale doctor.
struct Finding {
  std::string name;  ///< "governor"
  FindingState state = FindingState::ok;
  std::string found = {};
  std::string advice = {};  ///< why it matters and what to do; empty if nothing is to be done
};

struct FindingGroup {
  std::string name;  ///< "machine"
  std::vector<Finding> findings;
  [[nodiscard]] FindingState verdict() const;  ///< the worst state
};

/// The verdict of each group, one row for each finding, and the advice of each that is not ok.
report::Document findings_document(const std::vector<FindingGroup>& groups);

/// Cores, clocks, memory, other load and GPUs. `root` is a tree like /, `cores` the number of
/// usable cores, and `witness` the time of fixed work (bench::ReferenceWork).
FindingGroup check_machine(const std::filesystem::path& root, int cores,
                           const std::function<Seconds()>& witness);

/// Number of NVIDIA GPUs, with or without a driver, by PCI vendor and class.
int nvidia_gpus(const std::filesystem::path& root);

/// This build, its backends and communicators, and the programs and files that some verbs need. A
/// GPU backend counts as missing only if there is a GPU.
FindingGroup check_software(int gpus);

/// The reason why this machine cannot use a member of this build; empty if it can. The check of a
/// compute backend opens its device.
std::string obstacle(const backend::ComputeBackend& member);
std::string obstacle(const backend::CommBackend& member);

/// Whether two ranks are started to test the launcher.
enum class Hello { tried, left_out };

/// The launcher, the number of ranks that it starts, and their shared memory.
FindingGroup check_links(Hello hello);

/// The finding on a launcher that started two ranks, by their exit and their output.
Finding tried_launcher(const std::string& program, const ChildExit& exit,
                       const std::string& output);

/// The finding on the file system at /dev/shm.
Finding shared_memory(const std::filesystem::space_info& space);

/// The most informative line of a failed launch: the first that is ours or names an error.
std::string telling_line(const std::string& output);

}  // namespace dlscale::app
