#include "backend/compute/native/fft/blocks.hpp"

#include <limits>
#include <vector>

#include "core/error.hpp"

namespace dlscale::backend::native_device::spectral {

namespace {

std::int64_t parts(std::int64_t all, std::int64_t block) {
  return (all + block - 1) / block;
}

/// all, all/2, all/4 … down to `multiple`, all but the first rounded up to it.
std::vector<std::int64_t> candidates(std::int64_t all, std::int64_t multiple) {
  std::vector<std::int64_t> sizes{all};
  for (std::int64_t n = 2; sizes.back() > multiple; n *= 2) {
    sizes.push_back(round_up(parts(all, n), multiple));
  }
  return sizes;
}

/// Per frequency, in elements moved between memory and core: a transform counts as much as moving
/// four complex numbers, a call of the GEMM as much as 1500 elements. Â is transformed again for
/// every block of j, unless it stays because q is in one block; B̂ likewise for every block of i.
double cost(const Problem& problem, const Blocks& blocks) {
  constexpr double transform = 8;
  constexpr double call = 1500;
  const std::int64_t q = problem.a.all_rows(), i = problem.a.all_lanes();
  const std::int64_t j = problem.b.all_lanes();
  const std::int64_t nq = parts(q, blocks.q), ni = parts(i, blocks.i), nj = parts(j, blocks.j);
  const std::int64_t planes = q * i * (nq == 1 ? 1 : nj) + q * j * (nq * nj == 1 ? 1 : ni) + i * j;
  const std::int64_t moved = 2 * (q * i * nj + q * j * ni + i * j * (2 * nq - 1));
  return transform * static_cast<double>(planes) + static_cast<double>(moved) +
         call * static_cast<double>(2 * nq * ni * nj);
}

}  // namespace

Blocks choose_blocks(const Problem& problem, std::int64_t batch, std::int64_t limit_bytes) {
  const std::int64_t limit =
      limit_bytes / static_cast<std::int64_t>(sizeof(float)) / frequencies(problem.L);
  Blocks best{};
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t q : candidates(problem.a.all_rows(), 1)) {
    for (const std::int64_t i : candidates(problem.a.all_lanes(), batch)) {
      for (const std::int64_t j : candidates(problem.b.all_lanes(), batch)) {
        const Blocks blocks{q, i, j, batch};
        if (blocks.floats() > limit || cost(problem, blocks) >= least) continue;
        best = blocks;
        least = cost(problem, blocks);
      }
    }
  }
  EXPECT(best.batch == batch);
  return best;
}

}  // namespace dlscale::backend::native_device::spectral
