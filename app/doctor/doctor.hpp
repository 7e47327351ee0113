#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// ok: nothing to do. unavailable: it cannot be known here, and why. warning: it disturbs
/// measurements or a training. missing: this machine or this build lacks it.
enum class FindingState { ok, unavailable, warning, missing };

/// The result of one check of dlscale doctor.
struct Finding {
  std::string name;  ///< "governor"
  FindingState state = FindingState::ok;
  std::string found = {};
  std::string advice = {};  ///< why it matters and what to do; empty where nothing is to be done
};

struct FindingGroup {
  std::string name;  ///< "machine"
  std::vector<Finding> findings;
  [[nodiscard]] FindingState verdict() const;  ///< the worst state
};

/// The verdict of each group, a row a finding, and the advice of each that is not ok.
report::Document findings_document(const std::vector<FindingGroup>& groups);

/// Cores, clocks, memory, other load and GPUs: of a tree like /, with as many usable cores and the
/// time of fixed work (bench::SpeedWitness).
FindingGroup check_machine(const std::filesystem::path& root, int cores,
                           const std::function<Seconds()>& witness);

/// GPUs of NVIDIA, with or without a driver, by their PCI vendor and class.
int nvidia_gpus(const std::filesystem::path& root);

/// This build, its backends and communicators, and the programs and files that some verbs need.
/// Backends of GPUs are missing only where there is a GPU.
FindingGroup check_software(int gpus);

/// Why a member of this build cannot be used on this machine; empty if it can. That of a compute
/// backend opens its device.
std::string obstacle(const backend::ComputeBackend& member);
std::string obstacle(const backend::CommBackend& member);

/// Whether two ranks are started to try the launcher.
enum class Hello { tried, left_out };

/// The launcher, the number of ranks that it starts, and the memory that they share.
FindingGroup check_links(Hello hello);

/// Of the file system at /dev/shm.
Finding shared_memory(const std::filesystem::space_info& space);

/// The most informative line of a failed launch: the first of ours or that names an error.
std::string telling_line(const std::string& output);

}  // namespace dlscale::app
