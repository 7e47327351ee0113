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

/// Value of build_id() if the linker did not write one.
inline constexpr const char* unknown_build = "unknown";

/// Identifies this build of the program, even among builds of the same commit, in hexadecimal
/// digits. It is the linker's build id of all its inputs (NT_GNU_BUILD_ID of the ELF file, as
/// `readelf --notes` shows it). Stripping or copying the program does not change it.
std::string build_id();

}  // namespace dlscale
