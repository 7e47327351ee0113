#include "backend/host/simd/bf16_kernels.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace dlscale::backend::simd {
namespace {

// A round adds products with a sum of 1 to every register, then products with a sum of -255/256:
// each register grows by exactly 1/256.
constexpr double growth = 1.0 / 256;
constexpr float taken_back = -255.0F / 256;

/// Bits of a number that has at most eight bits of mantissa.
constexpr std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, value) >> 16U);
}

double largest_error(const float* sums, std::size_t count, std::int64_t rounds) {
  const double expected = static_cast<double>(rounds) * growth;
  double error = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double relative = std::abs(static_cast<double>(sums[i]) - expected) / expected;
    if (!(relative <= error)) error = relative;
    if (std::isnan(error)) return error;
  }
  return error;
}

constexpr int vectors = 12;  // vectors of sums: enough to hide the latency
constexpr int lanes = 16;    // lanes per vector, each a sum of two products

[[gnu::target("avx512f,avx512bf16")]] double run_avx512(std::int64_t rounds) {
  const auto all = [](float value) {
    return static_cast<short>(bf16_bits(value));  // NOLINT(google-runtime-int): the intrinsic's
  };
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(all(1.0F)));
  const auto halves = reinterpret_cast<__m512bh>(_mm512_set1_epi16(all(0.5F)));
  const auto back = reinterpret_cast<__m512bh>(_mm512_set1_epi16(all(taken_back / 2)));
  __m512 sums[vectors];
  for (auto& each : sums) each = _mm512_setzero_ps();
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (auto& each : sums) each = _mm512_dpbf16_ps(each, ones, halves);
#pragma GCC unroll 12
    for (auto& each : sums) each = _mm512_dpbf16_ps(each, ones, back);
  }
  alignas(64) std::array<float, static_cast<std::size_t>(vectors * lanes)> values{};
  for (int v = 0; v < vectors; ++v)
    _mm512_store_ps(values.data() + std::ptrdiff_t{v} * lanes, sums[v]);
  return largest_error(values.data(), values.size(), rounds);
}

bool has_avx512_bf16() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}

constexpr int rows = 16;          // rows per tile
constexpr int row_bytes = 64;     // bytes per row of a tile: 16 sums, or 32 factors
constexpr int factors = 32;       // factors per sum
constexpr int tiles_of_sums = 5;  // tiles 0 … 4; then come a, b, and a b that subtracts

/// Configuration of the tiles, as the processor reads it   [Intel SDM, LDTILECFG].
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> bytes_of_row{};
  std::array<std::uint8_t, 16> row_count{};
};

TileConfiguration eight_full_tiles() {
  TileConfiguration tiles;
  std::fill_n(tiles.bytes_of_row.begin(), 8, static_cast<std::uint16_t>(row_bytes));
  std::fill_n(tiles.row_count.begin(), 8, static_cast<std::uint8_t>(rows));
  return tiles;
}

using TileOfFactors = std::array<std::uint16_t, static_cast<std::size_t>(rows* factors)>;

TileOfFactors tile_of(float value) {
  TileOfFactors tile;
  tile.fill(bf16_bits(value));
  return tile;
}

[[gnu::target("amx-tile,amx-bf16")]] double run_amx(std::int64_t rounds) {
  const TileConfiguration tiles = eight_full_tiles();
  const TileOfFactors a = tile_of(1.0F);
  const TileOfFactors b = tile_of(1.0F / factors);
  const TileOfFactors b_back = tile_of(taken_back / factors);
  _tile_loadconfig(&tiles);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_loadd(5, a.data(), row_bytes);
  _tile_loadd(6, b.data(), row_bytes);
  _tile_loadd(7, b_back.data(), row_bytes);
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 5, 6);
    _tile_dpbf16ps(1, 5, 6);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 6);
    _tile_dpbf16ps(4, 5, 6);
    _tile_dpbf16ps(0, 5, 7);
    _tile_dpbf16ps(1, 5, 7);
    _tile_dpbf16ps(2, 5, 7);
    _tile_dpbf16ps(3, 5, 7);
    _tile_dpbf16ps(4, 5, 7);
  }
  std::array<float, static_cast<std::size_t>(tiles_of_sums * rows * lanes)> sums{};
  constexpr std::size_t tile = static_cast<std::size_t>(rows) * lanes;
  _tile_stored(0, sums.data(), row_bytes);
  _tile_stored(1, sums.data() + tile, row_bytes);
  _tile_stored(2, sums.data() + 2 * tile, row_bytes);
  _tile_stored(3, sums.data() + 3 * tile, row_bytes);
  _tile_stored(4, sums.data() + 4 * tile, row_bytes);
  _tile_release();
  return largest_error(sums.data(), sums.size(), rounds);
}

/// Whether the processor has tiles and their bf16 products: EDX of leaf 7, bits 24 and 22 [Intel
/// SDM, CPUID]. Read here, because not every compiler knows the names of these features.
bool processor_has_amx_bf16() {
  constexpr unsigned leaf = 7;
  constexpr unsigned bits = 1U << 24U | 1U << 22U;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & bits) == bits;
}

/// Linux keeps tile state only for processes that request it [Documentation/arch/x86/xstate.rst:
/// ARCH_REQ_XCOMP_PERM of component 18, TILEDATA].
bool has_amx_bf16() {
  constexpr long request_permission = 0x1023;  // NOLINT(google-runtime-int): syscall's own type
  constexpr long tile_data = 18;               // NOLINT(google-runtime-int)
  return processor_has_amx_bf16() && ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

constexpr double products(int sums, int of_each) {
  return 2.0 * 2.0 * sums * of_each;  // two of them per round; a multiply-add is two operations
}

}  // namespace

std::vector<Bf16Instructions> bf16_instructions() {
  constexpr double exact = 0;
  return {
      {{"avx512_bf16", "bf16", products(vectors * lanes, 2), run_avx512, exact}, has_avx512_bf16},
      {{"amx_bf16", "bf16", products(tiles_of_sums * rows * lanes, factors), run_amx, exact},
       has_amx_bf16}};
}

}  // namespace dlscale::backend::simd

#else

namespace dlscale::backend::simd {

std::vector<Bf16Instructions> bf16_instructions() {
  return {};
}

}  // namespace dlscale::backend::simd

#endif
