#include "regression/statistics/direction.hpp"

namespace dlscale::report {

std::string_view direction_name(Direction direction) {
  switch (direction) {
    case Direction::smaller_is_better:
      return "smaller_is_better";
    case Direction::larger_is_better:
      return "larger_is_better";
    case Direction::steady:
      return "steady";
  }
  return "";
}

double worse_sign(Direction direction) {
  return direction == Direction::larger_is_better ? -1 : 1;
}

}  // namespace dlscale::report
