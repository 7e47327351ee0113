#include "core/results/throttling.hpp"

#include <array>
#include <string_view>

namespace dlscale {
namespace {

struct Reason {
  std::uint64_t bit;
  std::string_view name;
};

/// nvmlClocksEventReason… of the NVML API Reference Guide.
constexpr std::array throttling{
    Reason{0x04, "power limit"},
    Reason{0x08, "hardware slowdown"},
    Reason{0x10, "sync boost"},
    Reason{0x20, "temperature limit of the software"},
    Reason{0x40, "temperature limit of the hardware"},
    Reason{0x80, "power brake"},
};

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (const Reason& reason : throttling) {
    if ((reasons & reason.bit) != 0) names.emplace_back(reason.name);
  }
  return names;
}

}  // namespace dlscale
