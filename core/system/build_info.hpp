#pragma once
#include <string>

namespace dlscale {

/// Source and build of this program, collected at each build (core/system/write_build_info.cmake).
struct BuildInfo {
  std::string version;
  std::string build_type;
  std::string compiler;  ///< "GNU 12.2.0"
  std::string flags;
  std::string commit;   ///< commit of the source tree; "unknown" outside a git repository
  bool dirty = false;   ///< tracked files differed from the commit
  std::string changes;  ///< git's hash of that difference; empty if there is none
};

BuildInfo build_info();

}  // namespace dlscale
