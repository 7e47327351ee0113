#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/doctor_findings.hpp"

namespace dlscale::app {

/// A place for files.
struct Space {
  std::string place;
  double free_bytes = 0;  ///< for this process
  double all_bytes = 0;   ///< 0: there is no such place
};

/// Of the file system that holds a folder.
Space space_at(const std::string& place);

/// What is known of the machine besides the tree of its files.
struct MachineView {
  std::filesystem::path root = "/";  ///< a tree that looks like /
  int cores = 1;                     ///< that this process may use
  Space results;                     ///< where it stands
  Space shared_memory;
};

/// What makes times of this machine vary, or a training on it end: clocks, hardware threads, load,
/// pages, memory nodes, limits of its control group, places for files, the clock that is read.
/// Reads only.
std::vector<Finding> check_machine(const MachineView& view);

}  // namespace dlscale::app
