#include "model/communication/size_split.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::model {

Half half_of_size(Bytes bytes) {
  EXPECT(bytes.si() >= 1);
  const long octave = std::lround(std::log2(bytes.si()));
  const bool second_trains = fold_of(fmt::format("octaves {}", octave / 2), 2) == 1;
  const bool is_second = octave % 2 == 1;
  return is_second == second_trains ? Half::training : Half::judging;
}

}  // namespace dlscale::model
