#pragma once
#include <string>

namespace dlscale {

/// Value of build_id() if the linker did not write one.
inline constexpr const char* unknown_build = "unknown";

/// Identifies this build of the program, even among builds of the same commit, in hexadecimal
/// digits. It is the linker's build id of all its inputs (NT_GNU_BUILD_ID of the ELF file, as
/// `readelf --notes` shows it). Stripping or copying the program does not change it.
std::string build_id();

}  // namespace dlscale
