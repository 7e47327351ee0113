#pragma once
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "tests/core/support.hpp"

namespace dlscale::test {

/// `text` with one to four bytes replaced, removed or put in.
inline std::string mutated(std::string_view text, std::mt19937& random) {
  constexpr std::string_view bytes = " \n:,-{}[]\"'#&*!|>%@0129.eEnaN/\t\x01\xc3";
  std::string copy(text);
  const unsigned changes = 1 + static_cast<unsigned>(random() % 4);
  for (unsigned change = 0; change < changes && !copy.empty(); ++change) {
    const std::size_t at = random() % copy.size();
    const char byte = bytes[random() % bytes.size()];
    switch (random() % 3) {
      case 0:
        copy[at] = byte;
        break;
      case 1:
        copy.erase(at, 1 + random() % 3);
        break;
      default:
        copy.insert(at, 1, byte);
    }
  }
  return copy;
}

/// That `load` reads each of some hundred mutations of `text`, or refuses it with a sentence.
template <class Load>
void expect_no_crash(std::string_view text, Load load) {
  std::mt19937 random(7);  // NOLINT: the same mutations every time
  const TemporaryFolder folder;
  constexpr int mutations = 300;
  int refused = 0;
  for (int i = 0; i < mutations; ++i) {
    const std::string mutation = mutated(text, random);
    try {
      (void)load(folder.write("mutated.yaml", mutation).string());
    } catch (const ConfigError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << " of\n" << mutation;
    }
  }
  EXPECT_GT(refused, mutations / 4);
  EXPECT_LT(refused, mutations);
}

}  // namespace dlscale::test
