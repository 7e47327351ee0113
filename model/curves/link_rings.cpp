#include "model/curves/link_rings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace dlscale::model {
namespace {

constexpr std::size_t node_gpus = 8;

/// Links from the one to the other, in each direction.
using Links = std::array<std::array<int, node_gpus>, node_gpus>;

struct Pair {
  std::size_t a;
  std::size_t b;
  int links;
};

constexpr std::array v100_mesh{Pair{0, 1, 1}, Pair{0, 2, 1}, Pair{0, 3, 2}, Pair{0, 4, 2},
                               Pair{1, 2, 2}, Pair{1, 3, 1}, Pair{1, 5, 2}, Pair{2, 3, 2},
                               Pair{2, 6, 1}, Pair{3, 7, 1}, Pair{4, 5, 1}, Pair{4, 6, 1},
                               Pair{4, 7, 2}, Pair{5, 6, 2}, Pair{5, 7, 1}, Pair{6, 7, 2}};

/// The same pairs with four links a GPU: one each.
constexpr std::array p100_mesh{Pair{0, 1, 1}, Pair{0, 2, 1}, Pair{0, 3, 1}, Pair{0, 4, 1},
                               Pair{1, 2, 1}, Pair{1, 3, 1}, Pair{1, 5, 1}, Pair{2, 3, 1},
                               Pair{2, 6, 1}, Pair{3, 7, 1}, Pair{4, 5, 1}, Pair{4, 6, 1},
                               Pair{4, 7, 1}, Pair{5, 6, 1}, Pair{5, 7, 1}, Pair{6, 7, 1}};

Links links_among(std::span<const Pair> mesh, std::size_t gpus) {
  Links links{};
  for (const Pair& pair : mesh) {
    if (pair.a >= gpus || pair.b >= gpus) continue;
    links[pair.a][pair.b] = pair.links;
    links[pair.b][pair.a] = pair.links;
  }
  return links;
}

/// Packs rings into links, one after the other, and goes back where one cannot be closed.
class RingSearch {
 public:
  RingSearch(const Links& links, std::size_t gpus) : free_(links), gpus_(gpus) {
    bound_ = links_of(0);
    for (std::size_t gpu = 1; gpu < gpus; ++gpu) bound_ = std::min(bound_, links_of(gpu));
  }

  /// Of the least joined GPU: no more rings than that pass through it.
  [[nodiscard]] int bound() const { return bound_; }

  int most() {
    extend(0, 1);
    return best_;
  }

 private:
  [[nodiscard]] int links_of(std::size_t gpu) const {
    int sum = 0;
    for (const int links : free_[gpu]) sum += links;
    return sum;
  }

  /// The ring being made has come to `at`; bits of `visited` are the GPUs that it has.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the node has links
  void extend(std::size_t at, unsigned visited) {
    if (best_ == bound_) return;
    const bool all = visited + 1 == (1U << gpus_);
    if (all) {
      close(at);
      return;
    }
    for (std::size_t next = 1; next < gpus_; ++next) {
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

  Links free_;
  std::size_t gpus_;
  int bound_ = 0;
  int made_ = 0;
  int best_ = 0;
};

}  // namespace

std::optional<LinkRings> link_rings(const cases::CurveCluster& cluster, int gpus) {
  if (!cluster.intra_node || cluster.gpus_per_node != static_cast<int>(node_gpus)) return {};
  if (gpus < 2 || gpus > static_cast<int>(node_gpus)) return {};
  const bool v100 = cluster.intra_node->kind == "nvlink2";
  if (!v100 && cluster.intra_node->kind != "nvlink1") return {};
  const auto count = static_cast<std::size_t>(gpus);
  const std::span<const Pair> mesh = v100 ? std::span<const Pair>(v100_mesh) : p100_mesh;
  RingSearch search(links_among(mesh, count), count);
  const int rings = search.most();
  if (rings == 0) return LinkRings{search.bound(), false};
  return LinkRings{rings, true};
}

}  // namespace dlscale::model
