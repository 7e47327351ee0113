#include "core/cluster/nvlink_rings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>

#include "core/base/error.hpp"
#include "core/cluster/node_links.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

/// The pairs in a DGX-1 of V100, joined by one link or two. [nvidia-smi topo -m of such nodes;
/// NVIDIA/nccl issue 671 prints them as NCCL sees them]
constexpr std::array dgx1_pairs{
    NvlinkPair{0, 1, 1}, NvlinkPair{0, 2, 1}, NvlinkPair{0, 3, 2}, NvlinkPair{0, 4, 2},
    NvlinkPair{1, 2, 2}, NvlinkPair{1, 3, 1}, NvlinkPair{1, 5, 2}, NvlinkPair{2, 3, 2},
    NvlinkPair{2, 6, 1}, NvlinkPair{3, 7, 1}, NvlinkPair{4, 5, 1}, NvlinkPair{4, 6, 1},
    NvlinkPair{4, 7, 2}, NvlinkPair{5, 6, 2}, NvlinkPair{5, 7, 1}, NvlinkPair{6, 7, 2}};

std::vector<NvlinkPair> hybrid_cube_mesh(bool single) {
  std::vector<NvlinkPair> pairs(dgx1_pairs.begin(), dgx1_pairs.end());
  if (single) {
    for (NvlinkPair& pair : pairs) pair.links = 1;
  }
  return pairs;
}

/// Joins every two of the devices from `first` on.
void join_all(int first, int devices, int links, std::vector<NvlinkPair>& pairs) {
  for (int a = first; a < first + devices; ++a) {
    for (int b = a + 1; b < first + devices; ++b) pairs.push_back({a, b, links});
  }
}

/// Groups of `size` adjacent devices; every two of a group are joined.
std::vector<NvlinkPair> islands(int devices, int size, int links) {
  std::vector<NvlinkPair> pairs;
  for (int first = 0; first < devices; first += size) join_all(first, size, links, pairs);
  return pairs;
}

/// Meaning of a board's name: topology, generation and number of links.
struct Board {
  enum class Shape { cube_mesh_single, cube_mesh, islands, nvswitch } shape;
  std::string_view name;
  int generation;
  int devices;  ///< for islands: devices per island; a node has one or more islands
  int links;    ///< links per pair of an island, or per device to switches
};

/// Full meshes of four: P100 has one link per pair, V100 two (DGX Station, WP-08606), A100 four
/// (HGX A100 4-GPU). P100 boards differ in the use of a device's fourth link; state the pairs if it
/// is known. POWER9 nodes with three V100 per socket connect two of a device's six links to the
/// host and two to each neighbour [IBM AC922, Summit]. Three bridges join two cards by twelve links
/// [NVIDIA A100 and H100 PCIe product briefs: 600 GB/s, both directions together]. With switches, a
/// device connects all its links to them.
constexpr std::array boards{
    Board{Board::Shape::cube_mesh_single, "dgx1_p100", 1, 8, 1},
    Board{Board::Shape::cube_mesh, "dgx1_v100", 2, 8, 2},
    Board{Board::Shape::islands, "p100_mesh_4", 1, 4, 1},
    Board{Board::Shape::islands, "v100_mesh_4", 2, 4, 2},
    Board{Board::Shape::islands, "a100_mesh_4", 3, 4, 4},
    Board{Board::Shape::islands, "power9_v100", 2, 3, 2},
    Board{Board::Shape::islands, "a100_bridges", 3, 2, 12},
    Board{Board::Shape::islands, "h100_bridges", 4, 2, 12},
    Board{Board::Shape::nvswitch, "v100_nvswitch", 2, 1, 6},
    Board{Board::Shape::nvswitch, "a100_nvswitch", 3, 1, 12},
    Board{Board::Shape::nvswitch, "h100_nvswitch", 4, 1, 18},
    Board{Board::Shape::nvswitch, "b200_nvswitch", 5, 1, 18},
};

void fill(const Board& board, int devices, Nvlinks& links) {
  switch (board.shape) {
    case Board::Shape::cube_mesh_single:
      links.pairs = hybrid_cube_mesh(true);
      return;
    case Board::Shape::cube_mesh:
      links.pairs = hybrid_cube_mesh(false);
      return;
    case Board::Shape::islands:
      links.pairs = islands(devices, board.devices, board.links);
      return;
    case Board::Shape::nvswitch:
      links.switch_links = board.links;
      return;
  }
  fail_expectation("a known shape of boards");
}

bool fits(const Board& board, int devices) {
  const bool repeats =
      board.shape == Board::Shape::islands || board.shape == Board::Shape::nvswitch;
  return repeats ? devices % board.devices == 0 : devices == board.devices;
}

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

std::vector<std::string> nvlink_boards() {
  std::vector<std::string> names;
  for (const Board& board : boards) names.emplace_back(board.name);
  return names;
}

Nvlinks nvlink_board(std::string_view name, int devices, std::string_view where) {
  const auto* board = std::ranges::find(boards, name, &Board::name);
  if (board == boards.end()) {
    throw ConfigError(fmt::format("{}: \"{}\" is not a known board, so its links are not known. {}",
                                  where, escape_for_terminal(name),
                                  suggestion(name, nvlink_boards())));
  }
  if (!fits(*board, devices)) {
    throw ConfigError(fmt::format(
        "{}: board {} joins {} devices{}, and a node has {} (so some would have no links). State "
        "the pairs instead, or correct devices_per_node.",
        where, name, board->devices,
        board->shape == Board::Shape::islands ? " or a multiple of it" : "", devices));
  }
  Nvlinks links;
  links.generation = board->generation;
  links.board = name;
  fill(*board, devices, links);
  return links;
}

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
