#include "regression/history/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <span>

#include "core/base/error.hpp"

namespace dlscale::report::history {

std::string sha256(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(content.data(), content.size(), digest.data(), &length, EVP_sha256(), nullptr) !=
      1) {
    throw LibraryError("EVP_Digest of libcrypto failed: it has no SHA-256");
  }
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(length), ""));
}

}  // namespace dlscale::report::history
