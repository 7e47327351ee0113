#pragma once
#include <cstdint>
#include <string_view>

namespace dlscale {

/// FNV-1a of 64 bits [G. Fowler, L. C. Noll, K.-P. Vo, RFC 9923]. It distinguishes texts that
/// differ by chance; it does not resist deliberate collisions.
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char letter : text) {
    value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return value;
}

}  // namespace dlscale
