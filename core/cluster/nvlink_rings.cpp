#include "core/cluster/nvlink_rings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

constexpr auto most = static_cast<std::size_t>(most_mesh_devices);
constexpr int most_steps = 200'000;

/// Links from one device to another that no ring uses yet.
using FreeLinks = std::array<std::array<int, most>, most>;

/// Packs rings into links, one after the other, and backtracks if one cannot be closed.
class RingSearch {
 public:
  RingSearch(const FreeLinks& links, std::size_t devices) : free_(links), devices_(devices) {
    bound_ = links_of(0);
    for (std::size_t device = 1; device < devices; ++device) {
      bound_ = std::min(bound_, links_of(device));
    }
  }

  int most_rings() {
    extend(0, 1);
    return best_;
  }

 private:
  [[nodiscard]] int links_of(std::size_t device) const {
    return std::accumulate(free_[device].begin(), free_[device].end(), 0);
  }

  /// The number of rings is at most the number of links of a device.
  [[nodiscard]] bool is_over() const { return best_ == bound_ || steps_ >= most_steps; }

  /// Extends the current ring, which has reached `at`; bits of `visited` are its devices.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the node has links
  void extend(std::size_t at, unsigned visited) {
    ++steps_;
    if (is_over()) return;
    if (visited + 1 == (1U << devices_)) {
      close(at);
      return;
    }
    for (std::size_t next = 1; next < devices_; ++next) {
      if (((visited >> next) & 1U) != 0 || free_[at][next] == 0) continue;
      --free_[at][next];
      extend(next, visited | (1U << next));
      ++free_[at][next];
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): as extend()
  void close(std::size_t at) {
    if (free_[at][0] == 0) return;
    --free_[at][0];
    ++made_;
    best_ = std::max(best_, made_);
    extend(0, 1);
    --made_;
    ++free_[at][0];
  }

  FreeLinks free_;
  std::size_t devices_;
  int bound_ = 0;
  int made_ = 0;
  int best_ = 0;
  int steps_ = 0;
};

}  // namespace

int nvlink_rings(std::span<const NvlinkPair> pairs, int devices) {
  EXPECT(devices >= 2 && devices <= most_mesh_devices);
  FreeLinks links{};
  for (const NvlinkPair& pair : pairs) {
    if (std::max(pair.a, pair.b) >= devices) continue;
    const auto a = static_cast<std::size_t>(pair.a);
    const auto b = static_cast<std::size_t>(pair.b);
    links[a][b] += pair.links;
    links[b][a] += pair.links;
  }
  return RingSearch(links, static_cast<std::size_t>(devices)).most_rings();
}

}  // namespace dlscale
