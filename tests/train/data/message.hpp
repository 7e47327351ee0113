#pragma once
#include <string>

#include "tests/core/support.hpp"

namespace dlscale::train {

using test::config_error;

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace dlscale::train
