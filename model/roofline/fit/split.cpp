#include "model/roofline/fit/split.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"

namespace dlscale::model {
namespace {

/// Every bit of the result depends on every bit of x. FNV's last bits depend on few letters.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33);
}

/// A kernel's name without the suffixes that do not change its shape.
std::string_view shape_of(std::string_view kernel) {
  for (const std::string_view suffix : {" bias", " relu", " consumers"}) {
    kernel = kernel.substr(0, kernel.find(suffix));
  }
  return kernel;
}

}  // namespace

int fold_of(std::string_view kernel, int folds, std::uint64_t salt) {
  EXPECT(folds >= 1);
  return static_cast<int>(mixed(fnv1a(shape_of(kernel)) + salt) %
                          static_cast<std::uint64_t>(folds));
}

Half half_of(std::string_view kernel) {
  return fold_of(kernel, 2) == 0 ? Half::training : Half::judging;
}

Half half_of_size(Bytes bytes) {
  EXPECT(bytes.si() >= 1);
  const long octave = std::lround(std::log2(bytes.si()));
  const bool second_trains = fold_of(fmt::format("octaves {}", octave / 2), 2) == 1;
  const bool is_second = octave % 2 == 1;
  return is_second == second_trains ? Half::training : Half::judging;
}

}  // namespace dlscale::model
