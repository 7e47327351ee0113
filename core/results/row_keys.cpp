#include "core/results/row_keys.hpp"

#include "core/results/communication_profile.hpp"
#include "core/results/usable_rows.hpp"

namespace dlscale {
namespace {

/// Adds axes of messages that older files lack, of the kinds that existed then,
/// all-reduces and ping-pongs.
void add_older_messages(std::map<std::string, std::string>& axes) {
  const auto collective = axes.find("collective");
  if (collective == axes.end()) return;
  const bool pair = collective->second == "sendrecv";
  if (!pair && collective->second != "all_reduce") return;
  for (const auto& [name, then] : message_axes) {
    if (!pair || name == "dtype") axes.try_emplace(std::string(name), then);
  }
}

}  // namespace

std::optional<SeriesRole> role_of(const std::string& benchmark, std::string_view series) {
  if (series == "witness") return std::nullopt;
  if (series == "real_time")
    return SeriesRole::judged;  // another program may call its benchmark "comm"
  if (benchmark == "e2e") return series == "t_iter" ? SeriesRole::judged : SeriesRole::detail;
  if (benchmark == profile_benchmark)
    return series == "time" ? SeriesRole::judged : SeriesRole::detail;
  if (benchmark != "comm") return SeriesRole::judged;
  if (series.starts_with("start_skew") || series.starts_with("clock_")) return std::nullopt;
  return series == "time" ? SeriesRole::judged : SeriesRole::detail;
}

std::string key_without(const Measurement& measurement, std::span<const std::string_view> axes) {
  Measurement bare;
  bare.benchmark = measurement.benchmark;
  bare.axes = measurement.axes;
  if (measurement.benchmark == "e2e") add_older_axes(bare.axes);
  if (measurement.benchmark == "comm") add_older_messages(bare.axes);
  if (measurement.benchmark == "conv") {
    bare.axes.try_emplace("fuse", "none");
    bare.axes.try_emplace("values", normal_values);
  }
  if (measurement.benchmark == "gemm") bare.axes.try_emplace("values", normal_values);
  if (measurement.benchmark == "update") bare.axes.try_emplace("cache", "cold");
  for (const std::string_view name : axes) bare.axes.erase(std::string(name));
  return bare.key();
}

void add_older_axes(std::map<std::string, std::string>& axes) {
  axes.try_emplace("waiting", "sleep");
  axes.try_emplace("input_copy", "on_path");
  axes.try_emplace("launch", "eager");
  axes.try_emplace("fuse", "none");
  axes.try_emplace("normalise", "host");
  axes.try_emplace("phases", "yes");
}

}  // namespace dlscale
