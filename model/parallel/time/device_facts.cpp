#include "model/parallel/time/device_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.hpp"

namespace dlscale::model::parallel_time {
namespace {

struct Capability {
  std::string_view architecture;
  double value;
};
/// CUDA C++ programming guide, compute capabilities.
constexpr std::array capabilities{Capability{"tesla", 1.3},
                                  Capability{"fermi", 2},
                                  Capability{"kepler", 3.5},
                                  Capability{"maxwell", 5.2},
                                  Capability{"pascal", 6},
                                  Capability{"volta", 7},
                                  Capability{"turing", 7.5},
                                  Capability{"ampere", 8},
                                  Capability{"ada", 8.9},
                                  Capability{"hopper", hopper_capability},
                                  Capability{"blackwell", blackwell_capability}};

double capability_of(std::string_view architecture) {
  const auto found = std::ranges::find(capabilities, architecture, &Capability::architecture);
  return found == capabilities.end() ? 0 : found->value;
}

double peak_of(const DeviceSheet& sheet, SheetFormat format) {
  const auto found = sheet.peak.find(format);
  return found == sheet.peak.end() ? 0 : found->second.si();
}

}  // namespace

Precision parse_precision(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (has("fp4")) return Precision::four_bits;
  if (has("fp8")) return Precision::eight_bits;
  if (has("fp16") || has("bf16")) return Precision::half;
  if (text == "tf32") return Precision::tf32;
  if (text == "fp32") return Precision::f32;
  throw ConfigError(
      fmt::format("This model does not know the precision {}. Write one that names fp32, tf32, "
                  "fp16, bf16, fp8 or fp4.",
                  text));
}

double few_bit_bytes(Precision precision) {
  if (precision == Precision::eight_bits) return 1;
  if (precision == Precision::four_bits) return 0.5 + 1.0 / 16;
  return 0;
}

DeviceFacts device_facts(const DeviceSheet& sheet, const TimeConstants& constants) {
  DeviceFacts facts;
  facts.multiprocessors = sheet.multiprocessors;
  facts.clock = sheet.tensor_clock.si();
  facts.bandwidth = sheet.memory_bandwidth.si();
  facts.wide_peak = std::max(peak_of(sheet, SheetFormat::f32), peak_of(sheet, SheetFormat::tf32));
  facts.half_peak = peak_of(sheet, SheetFormat::bf16);
  if (facts.half_peak == 0) facts.half_peak = peak_of(sheet, SheetFormat::f16);
  if (facts.half_peak == 0) facts.half_peak = peak_of(sheet, SheetFormat::f32);
  facts.eight_bit_peak = peak_of(sheet, SheetFormat::f8);
  facts.power_w = sheet.power_w.value_or(0);
  facts.process_nm = sheet.process_nm.value_or(facts.process_nm);
  facts.capability = capability_of(sheet.architecture);
  facts.four_bit_peak = peak_of(sheet, SheetFormat::f4);
  if (facts.four_bit_peak == 0 && facts.capability >= blackwell_capability) {
    facts.four_bit_peak = constants.four_bit_rate * facts.eight_bit_peak;
  }
  return facts;
}

}  // namespace dlscale::model::parallel_time
