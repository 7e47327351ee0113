#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "backend/compute/cuda/runtime/host_device_code.hpp"

namespace dlscale::backend::cuda {

/// Runs on the host what the device's launcher enqueues, thread by thread. Teams share their memory
/// as on the device: every thread ends a phase before one begins the next.
class LoopLauncher {
 public:
  template <class Body>
  void each(std::string_view /*name*/, const Body& body, std::int64_t threads) const {
    EXPECT(threads >= 0 && threads < std::int64_t{1} << 31);
    for (std::int64_t i = 0; i < threads; ++i) body(static_cast<std::uint32_t>(i));
  }

  template <class Body>
  void teams(std::string_view /*name*/, const Body& body, std::int64_t x, std::int64_t y) const {
    const auto shared = std::make_unique<typename Body::Shared>();
    for (std::int64_t team = 0; team < x * y; ++team) {
      std::memset(static_cast<void*>(shared.get()), 0xA5, sizeof(typename Body::Shared));
      for (int phase = 0; phase < Body::phases; ++phase) {
        for (std::uint32_t thread = 0; thread < team_size; ++thread) {
          const Place place{static_cast<std::uint32_t>(team % x),
                            static_cast<std::uint32_t>(team / x), thread};
          body.run(phase, place, *shared);
        }
      }
    }
  }

  void upload(const void* from, void* to, std::size_t bytes) const { std::memcpy(to, from, bytes); }
  /// So few that slices have several units, and so many that there are several slices.
  [[nodiscard]] int processors() const { return 3; }
};

}  // namespace dlscale::backend::cuda
