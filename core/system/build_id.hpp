#pragma once
#include <string>

namespace dlscale {

/// What build_id() says where the linker has left none.
inline constexpr const char* unknown_build = "unknown";

/// What tells this program from any other that was built, of the same commit too: the build id that
/// the linker makes of all that it links (NT_GNU_BUILD_ID of the ELF file, as `readelf --notes`
/// shows it), in hexadecimal digits. Stripping or copying the program leaves it as it is.
std::string build_id();

}  // namespace dlscale
