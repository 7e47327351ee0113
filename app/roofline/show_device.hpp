#pragma once
#include <string>

#include "core/run/run.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `roofline show --device`: a network under the roofline of a data sheet, without any
/// measurement.
class ShowDevice {
 public:
  /// Adds the options to the command, which already has all others. Only those on output go with
  /// --device.
  void declare(CLI::App& command);
  /// Whether --device was given.
  [[nodiscard]] bool is_given() const { return !device_.empty(); }
  /// Places the network, and writes the figure if one was asked for. Throws ConfigError.
  [[nodiscard]] report::Document show() const;

 private:
  std::string device_;
  std::string network_;
  std::string figure_;
  int batch_ = 32;
  int sequence_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace dlscale::app
