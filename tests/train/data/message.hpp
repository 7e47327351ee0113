#pragma once
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.hpp"

namespace dlscale::train {

/// The message of the ConfigError that `action` throws; fails the test if it throws none.
template <class Action>
std::string config_error(const Action& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ConfigError was thrown";
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace dlscale::train
