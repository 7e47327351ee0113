#include "core/base/error.hpp"

#include <fmt/format.h>

namespace dlscale {

void fail_expectation(const char* condition, const char* file, int line) {
  throw std::logic_error(
      fmt::format("{}:{}: {} does not hold; this is a bug in dlscale", file, line, condition));
}

}  // namespace dlscale
