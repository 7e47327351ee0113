#include "core/error.hpp"

#include <fmt/format.h>

namespace dlscale {

void fail_expectation(const char* condition, std::source_location where) {
  throw std::logic_error(fmt::format("{}:{}: {} does not hold; this is a bug in dlscale",
                                     where.file_name(), where.line(), condition));
}

}  // namespace dlscale
