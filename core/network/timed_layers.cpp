#include "core/network/timed_layers.hpp"

#include <fmt/format.h>

#include <array>

#include "core/base/error.hpp"
#include "core/config/csv_table.hpp"

namespace dlscale {
namespace {

/// A longer time is a mistake in the unit; the limit keeps sums finite.
constexpr double most_seconds = 1e6;
constexpr double most_bytes = 1e15;
constexpr int most_ranks = 1 << 30;
/// Lower limit of message sizes and times, so that ratios stay finite.
constexpr Seconds least_time(1e-12);
constexpr Bytes least_message(1);
/// Merging tries all pairs of layers, so their number is limited.
constexpr std::size_t most_layers = 10'000;

constexpr std::array layer_columns{CsvColumn{"layer"},          CsvColumn{"forward_s"},
                                   CsvColumn{"backward_s"},     CsvColumn{"gradient_bytes"},
                                   CsvColumn{"io_s", false},    CsvColumn{"h2d_s", false},
                                   CsvColumn{"update_s", false}};
constexpr std::array message_columns{CsvColumn{"ranks"}, CsvColumn{"bytes"}, CsvColumn{"time_s"}};

Seconds seconds(const CsvTable& table, std::size_t row, std::string_view column) {
  return Seconds(table.number(row, column, most_seconds));
}

/// Sum over all lines; 0 and recorded in `untold` if the column is missing.
Seconds sum_of(const CsvTable& table, std::string_view column, std::vector<std::string>& untold) {
  Seconds sum;
  if (!table.has(column)) {
    untold.emplace_back(column);
    return sum;
  }
  for (std::size_t row = 0; row < table.size(); ++row) sum += seconds(table, row, column);
  return sum;
}

}  // namespace

Seconds TimedLayers::forward() const {
  Seconds sum;
  for (const TimedLayer& layer : layers) sum += layer.forward;
  return sum;
}

Seconds TimedLayers::backward() const {
  Seconds sum;
  for (const TimedLayer& layer : layers) sum += layer.backward;
  return sum;
}

TimedLayers read_timed_layers(const std::filesystem::path& path) {
  const CsvTable table(path, "times of layers", layer_columns);
  if (table.size() > most_layers) {
    throw ConfigError(
        fmt::format("{} has {} layers, more than {}, of which none is known that is trained. Write "
                    "a line a layer, not one a kernel or an iteration.",
                    path.string(), table.size(), most_layers));
  }
  TimedLayers timed;
  timed.name = path.stem().string();
  Bytes gradients;
  for (std::size_t row = 0; row < table.size(); ++row) {
    timed.layers.push_back({table.text(row, "layer"), seconds(table, row, "forward_s"),
                            seconds(table, row, "backward_s"),
                            Bytes(table.number(row, "gradient_bytes", most_bytes))});
    gradients += timed.layers.back().gradient;
  }
  if (timed.forward() <= Seconds() || timed.backward() <= Seconds()) {
    throw ConfigError(
        fmt::format("{}: {} takes no time in any layer, so that there is nothing to hide messages "
                    "behind, or to measure a speed-up against. Write what each layer takes.",
                    path.string(), timed.backward() <= Seconds() ? "backward_s" : "forward_s"));
  }
  if (gradients <= Bytes()) {
    throw ConfigError(
        fmt::format("{}: gradient_bytes is 0 in every layer, so that nothing would travel. Write "
                    "the bytes of each layer's gradient.",
                    path.string()));
  }
  timed.io = sum_of(table, "io_s", timed.untold);
  timed.h2d = sum_of(table, "h2d_s", timed.untold);
  timed.update = sum_of(table, "update_s", timed.untold);
  return timed;
}

std::vector<TimedMessage> read_timed_messages(const std::filesystem::path& path,
                                              std::vector<std::string>& notes) {
  const CsvTable table(path, "times of all-reduces", message_columns);
  std::vector<TimedMessage> messages;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const TimedMessage message{table.count(row, "ranks", most_ranks),
                               Bytes(table.number(row, "bytes", most_bytes)),
                               seconds(table, row, "time_s")};
    if (message.time == Seconds()) {
      notes.push_back(
          fmt::format("left out: {} has a time of 0, which nothing takes", table.place(row)));
      continue;
    }
    if (message.ranks < 2 || message.size < least_message || message.time < least_time) {
      throw ConfigError(
          fmt::format("{}: an all-reduce has 2 ranks or more, bytes of 1 or more and time_s of "
                      "1e-12 or more. Correct the line, or take it out.",
                      table.place(row)));
    }
    messages.push_back(message);
  }
  if (messages.empty()) {
    throw ConfigError(fmt::format("{}: time_s is 0 in every line. Write what each all-reduce took.",
                                  path.string()));
  }
  return messages;
}

}  // namespace dlscale
