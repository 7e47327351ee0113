#include "core/results/communication_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <compare>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/run/run.hpp"

namespace dlscale {
namespace {

/// Calls by collective and exponent.
using Calls = std::map<std::pair<std::string, int>, std::vector<const ProfiledMessage*>>;

Calls by_size(const CommunicationProfile& profile) {
  Calls calls;
  for (const auto& iteration : profile.iterations) {
    for (const ProfiledMessage& message : iteration) {
      calls[{message.collective, size_exponent(message.bytes)}].push_back(&message);
    }
  }
  return calls;
}

SizeBucket add_up(const std::vector<const ProfiledMessage*>& calls) {
  SizeBucket bucket{.collective = calls.front()->collective,
                    .exponent = size_exponent(calls.front()->bytes),
                    .calls = calls.size()};
  std::vector<double> times;
  times.reserve(calls.size());
  for (const ProfiledMessage* call : calls) {
    const Seconds time = slowest(*call);
    if (is_power_of_two(call->bytes)) {
      ++bucket.powers_of_two;
      bucket.power_time += time;
    }
    if (call->layers > 1) {
      ++bucket.fused;
      bucket.fused_time += time;
    }
    if (call->layers == 0) ++bucket.untold;
    bucket.bytes += Bytes(static_cast<double>(call->bytes));
    bucket.time += time;
    times.push_back(time.si());
  }
  bucket.call = summarize(times);
  return bucket;
}

using Axes = std::map<std::string, std::string>;
using ByRank = std::vector<std::vector<double>>;

constexpr const char* place_axis = "message";
constexpr const char* collective_axis = "collective";
constexpr const char* bytes_axis = "bytes";
constexpr const char* root_axis = "root";
constexpr const char* iteration_series = "iteration";
constexpr const char* under_way_series = "under_way";
constexpr const char* layers_series = "layers";

/// A time of a message, and the series that holds it.
struct TimeColumn {
  const char* series;
  std::vector<Seconds> ProfiledMessage::*times;
};
constexpr std::array time_columns{TimeColumn{"posted", &ProfiledMessage::posted},
                                  TimeColumn{"wait", &ProfiledMessage::wait},
                                  TimeColumn{"time", &ProfiledMessage::time}};

/// Identity of a row.
struct RowKey {
  std::size_t place = 0;  ///< position in the iteration
  std::string collective;
  std::int64_t bytes = 0;
  std::optional<Rank> root = {};
  auto operator<=>(const RowKey&) const = default;
};

// Writing.

/// The messages of one row, in the iterations that have it at that position.
struct Occurrences {
  std::vector<std::size_t> iterations;
  std::vector<const ProfiledMessage*> messages;
};

std::map<RowKey, Occurrences> occurrences(const CommunicationProfile& profile) {
  std::map<RowKey, Occurrences> rows;
  for (std::size_t i = 0; i < profile.iterations.size(); ++i) {
    const auto& iteration = profile.iterations[i];
    EXPECT(!iteration.empty());
    for (std::size_t place = 0; place < iteration.size(); ++place) {
      const ProfiledMessage& message = iteration[place];
      Occurrences& row = rows[{place, message.collective, message.bytes, message.root}];
      row.iterations.push_back(i);
      row.messages.push_back(&message);
    }
  }
  return rows;
}

ByRank times_of(const Occurrences& row, const TimeColumn& column, std::size_t ranks) {
  ByRank samples(ranks);
  for (const ProfiledMessage* message : row.messages) {
    const std::vector<Seconds>& times = message->*column.times;
    EXPECT(times.size() == ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) samples[rank].push_back(times[rank].si());
  }
  return samples;
}

/// The same numbers for every rank, as all ranks send the same messages in one order.
ByRank numbers_of(const Occurrences& row, std::size_t ProfiledMessage::*number, std::size_t ranks) {
  std::vector<double> numbers;
  for (const ProfiledMessage* message : row.messages) {
    numbers.push_back(static_cast<double>(message->*number));
  }
  return ByRank(ranks, numbers);
}

bool tells_layers(const Occurrences& row) {
  return std::ranges::none_of(row.messages, [](const auto* each) { return each->layers == 0; });
}

Measurement make_row(const CommunicationProfile& profile, const RowKey& key,
                     const Occurrences& row) {
  Measurement measurement;
  measurement.benchmark = profile_benchmark;
  measurement.axes = profile.axes;
  measurement.axes[place_axis] = std::to_string(key.place);
  measurement.axes[collective_axis] = key.collective;
  measurement.axes[bytes_axis] = std::to_string(key.bytes);
  if (key.root) measurement.axes[root_axis] = std::to_string(*key.root);
  measurement.implementation = profile.library;
  measurement.work = {Flops(0), Bytes(static_cast<double>(key.bytes))};
  if (!profile.interruption.empty()) {
    measurement.status = Status::interrupted;
    measurement.reason = profile.interruption;
  }
  const std::vector<double> numbers(row.iterations.begin(), row.iterations.end());
  measurement.series[iteration_series] = make_series("1", ByRank(profile.ranks(), numbers));
  for (const TimeColumn& column : time_columns) {
    measurement.series[column.series] = make_series("s", times_of(row, column, profile.ranks()));
  }
  if (profile.tells_order) {
    measurement.series[under_way_series] =
        make_series("1", numbers_of(row, &ProfiledMessage::under_way, profile.ranks()));
  }
  if (tells_layers(row)) {
    measurement.series[layers_series] =
        make_series("1", numbers_of(row, &ProfiledMessage::layers, profile.ranks()));
  }
  return measurement;
}

// Reading.

constexpr std::int64_t most_bytes = std::int64_t{1} << 40U;  ///< per message
constexpr std::int64_t most_ranks = std::int64_t{1} << 24U;
constexpr double longest = 3600;  ///< in seconds, for any time in an iteration

struct Problem {
  std::string text;
};

std::int64_t whole_axis(const Measurement& row, const char* name, std::int64_t least,
                        std::int64_t most) {
  const auto found = row.axes.find(name);
  if (found == row.axes.end()) throw Problem{fmt::format("a row lacks the axis \"{}\"", name)};
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= least && value <= most) return value;
  throw Problem{fmt::format("the axis \"{}\" is \"{}\", no whole number from {} to {}", name, text,
                            least, most)};
}

RowKey key_of(const Measurement& row) {
  const auto place =
      static_cast<std::size_t>(whole_axis(row, place_axis, 0, std::int64_t{1} << 32U));
  const auto collective = row.axes.find(collective_axis);
  if (collective == row.axes.end() || collective->second.empty()) {
    throw Problem{fmt::format("message {} names no collective", place)};
  }
  std::optional<Rank> root;
  if (row.axes.contains(root_axis)) {
    root = static_cast<Rank>(whole_axis(row, root_axis, 0, most_ranks - 1));
  }
  return {place, collective->second, whole_axis(row, bytes_axis, 1, most_bytes), root};
}

/// The samples of a series, each from 0 to `most`.
const ByRank& samples_of(const Measurement& row, const char* name, double most) {
  const auto found = row.series.find(name);
  if (found == row.series.end()) throw Problem{fmt::format("a row lacks the series \"{}\"", name)};
  const ByRank& samples = found->second.samples;
  if (samples.empty() || samples.front().empty()) {
    throw Problem{fmt::format("the series \"{}\" of a row is empty", name)};
  }
  for (const auto& rank : samples) {
    for (const double sample : rank) {
      if (std::isfinite(sample) && sample >= 0 && sample <= most) continue;
      throw Problem{fmt::format("a sample of \"{}\" is {}, not from 0 to {}", name, sample, most)};
    }
  }
  return samples;
}

/// Integers from 0 to `most`, from the first rank.
std::vector<std::size_t> whole_samples_of(const Measurement& row, const char* name, double most) {
  std::vector<std::size_t> numbers;
  for (const double number : samples_of(row, name, most).front()) {
    if (number != std::floor(number)) {
      throw Problem{fmt::format("a sample of \"{}\" is {}, no whole number", name, number)};
    }
    numbers.push_back(static_cast<std::size_t>(number));
  }
  return numbers;
}

/// All series of a row; their shapes agree.
struct RowSamples {
  std::vector<std::size_t> iterations;
  std::vector<std::size_t> under_way;  ///< empty if the file lacks it
  std::vector<std::size_t> layers;     ///< likewise
  std::array<const ByRank*, time_columns.size()> times{};
};

/// Reads the row of the message at `place` in the iteration.
RowSamples read_row(const Measurement& row, std::size_t place) {
  RowSamples read;
  read.iterations = whole_samples_of(row, iteration_series, 1e9);
  const ByRank& numbers = samples_of(row, iteration_series, 1e9);
  const auto read_if_told = [&](const char* name, double most) {
    std::vector<std::size_t> told;
    if (row.series.contains(name)) told = whole_samples_of(row, name, most);
    if (told.empty() || told.size() == read.iterations.size()) return told;
    throw Problem{fmt::format("\"{}\" has other samples than \"{}\"", name, iteration_series)};
  };
  read.under_way = read_if_told(under_way_series, static_cast<double>(place));
  read.layers = read_if_told(layers_series, 1e6);
  for (std::size_t i = 0; i < time_columns.size(); ++i) {
    const ByRank& times = samples_of(row, time_columns[i].series, longest);
    if (times.size() != numbers.size() || times.front().size() != numbers.front().size()) {
      throw Problem{fmt::format("\"{}\" has other ranks or samples than \"{}\"",
                                time_columns[i].series, iteration_series)};
    }
    read.times[i] = &times;
  }
  return read;
}

bool is_trained_in(std::string_view dtype) {
  constexpr std::array all{DType::f32, DType::tf32, DType::bf16, DType::f16};
  return std::ranges::any_of(all, [&](DType each) { return dtype_name(each) == dtype; });
}

/// A run of which only some rows have been read.
struct PartialRun {
  std::map<std::size_t, std::map<std::size_t, ProfiledMessage>> iterations;  ///< messages by place
  std::size_t ranks = 0;
  std::string library;
  std::string interruption;
  bool tells_order = true;

  void add(const Measurement& row) {
    const RowKey key = key_of(row);
    const RowSamples samples = read_row(row, key.place);
    if (ranks == 0) ranks = samples.times.front()->size();
    if (samples.times.front()->size() != ranks) {
      throw Problem{"its rows are of different numbers of ranks"};
    }
    if (key.root && static_cast<std::size_t>(*key.root) >= ranks) {
      throw Problem{
          fmt::format("message {} has rank {} of {} as its root", key.place, *key.root, ranks)};
    }
    if (samples.under_way.empty()) tells_order = false;
    for (std::size_t i = 0; i < samples.iterations.size(); ++i) add_sample(key, samples, i);
    library = row.implementation;
    if (row.status == Status::interrupted) interruption = row.reason;
  }

  void add_sample(const RowKey& key, const RowSamples& samples, std::size_t i) {
    ProfiledMessage message{.collective = key.collective, .bytes = key.bytes};
    message.root = key.root;
    if (!samples.under_way.empty()) message.under_way = samples.under_way[i];
    if (!samples.layers.empty()) message.layers = samples.layers[i];
    for (std::size_t column = 0; column < time_columns.size(); ++column) {
      for (const auto& rank : *samples.times[column]) {
        (message.*time_columns[column].times).emplace_back(rank[i]);
      }
    }
    const std::size_t iteration = samples.iterations[i];
    if (!iterations[iteration].emplace(key.place, std::move(message)).second) {
      throw Problem{fmt::format("message {} of iteration {} stands twice", key.place, iteration)};
    }
  }

  /// Compares the axes for ranks and data type, where present, with the samples.
  void expect_samples_of(const Axes& axes) const {
    const auto told = axes.find("ranks");
    if (told != axes.end() && told->second != std::to_string(ranks)) {
      throw Problem{fmt::format("the axis \"ranks\" is \"{}\", and its samples are of {}",
                                told->second, ranks)};
    }
    const auto dtype = axes.find("dtype");
    if (dtype != axes.end() && !is_trained_in(dtype->second)) {
      throw Problem{fmt::format("the axis \"dtype\" is \"{}\", in which no training computes",
                                dtype->second)};
    }
  }

  [[nodiscard]] CommunicationProfile finish(const Axes& axes) && {
    expect_samples_of(axes);
    CommunicationProfile profile{.axes = axes, .library = library, .interruption = interruption};
    profile.tells_order = tells_order;
    for (auto& [number, messages] : iterations) {
      if (number != profile.iterations.size()) {
        throw Problem{fmt::format("iteration {} is missing", profile.iterations.size())};
      }
      auto& iteration = profile.iterations.emplace_back();
      iteration.reserve(messages.size());
      for (auto& [place, message] : messages) {
        if (place != iteration.size()) {
          throw Problem{
              fmt::format("message {} of iteration {} is missing", iteration.size(), number)};
        }
        iteration.push_back(std::move(message));
      }
    }
    return profile;
  }
};

std::vector<CommunicationProfile> read_rows(const ResultFile& file) {
  std::map<Axes, PartialRun> runs;
  for (const Measurement& row : file.measurements) {
    if (row.benchmark != profile_benchmark) {
      throw Problem{fmt::format("a row is of the benchmark \"{}\"", row.benchmark)};
    }
    Axes axes = row.axes;
    for (const char* name : {place_axis, collective_axis, bytes_axis, root_axis}) axes.erase(name);
    runs[axes].add(row);
  }
  std::vector<CommunicationProfile> profiles;
  for (auto& [axes, run] : runs) profiles.push_back(std::move(run).finish(axes));
  return profiles;
}

std::string doubt_of(const ResultFile& file) {
  if (file.complete) return {};
  return fmt::format("{} ends early, so that messages may be missing", file.path.string());
}

Remedy writing_profile() {
  return {.subject = "e2e", .axes = {{"profile", "FILE"}}};
}

}  // namespace

int size_exponent(std::int64_t bytes) {
  EXPECT(bytes >= 1);
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1;
}

bool is_power_of_two(std::int64_t bytes) {
  EXPECT(bytes >= 1);
  return std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

Seconds slowest(const ProfiledMessage& message) {
  EXPECT(!message.time.empty());
  return *std::ranges::max_element(message.time);
}

std::vector<SizeBucket> size_buckets(const CommunicationProfile& profile) {
  std::vector<SizeBucket> buckets;
  Seconds all;
  for (const auto& [key, calls] : by_size(profile)) {
    buckets.push_back(add_up(calls));
    all += buckets.back().time;
  }
  for (SizeBucket& bucket : buckets) {
    if (all > Seconds(0)) bucket.share = bucket.time / all;
  }
  return buckets;
}

std::vector<Measurement> profile_rows(const CommunicationProfile& profile) {
  EXPECT(!profile.iterations.empty());
  std::vector<Measurement> rows;
  for (const auto& [key, row] : occurrences(profile)) rows.push_back(make_row(profile, key, row));
  return rows;
}

std::vector<CommunicationProfile> read_profiles(const ResultFile& file) {
  if (file.header.benchmark != profile_benchmark) {
    throw RemediableError(
        fmt::format(
            "{} holds results of bench {}, not what a training sent. Write the profile of a "
            "training.",
            file.path.string(), file.header.benchmark),
        writing_profile());
  }
  try {
    std::vector<CommunicationProfile> profiles = read_rows(file);
    for (CommunicationProfile& profile : profiles) profile.doubt = doubt_of(file);
    return profiles;
  } catch (const Problem& problem) {
    throw RemediableError(
        fmt::format("{}: {}, so it does not tell what a training sent. Write it anew.",
                    file.path.string(), problem.text),
        writing_profile());
  }
}

}  // namespace dlscale
