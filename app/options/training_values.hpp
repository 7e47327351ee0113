#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "core/run/schedule_settings.hpp"

namespace dlscale::app {

/// Values of a training that a command line or a framework's profile gives. An absent value was
/// not given. Lists have one element, except where a command compares several.
struct TrainingValues {
  std::optional<std::vector<Schedule>> schedules = {};
  std::optional<std::vector<Synchronisation>> synchronisations = {};
  std::optional<std::vector<int>> servers = {};  ///< 0: all ranks
  std::optional<std::vector<Sharding>> shardings = {};
  std::optional<std::vector<Transport>> transports = {};
  std::optional<std::vector<Callers>> callers = {};
  std::optional<Seconds> cycle = {};
  std::optional<Bytes> fusion_threshold = {};
  std::optional<Bytes> bucket = {};
  std::optional<Bytes> first_bucket = {};
  std::optional<Bytes> partition = {};
  std::optional<int> credit = {};
  std::optional<InputCopy> input_copy = {};
  std::optional<Launch> launch = {};
  std::optional<std::string> all_reduce = {};  ///< rule or algorithm of all-reduces
};

/// An option, and the value that it gives.
template <class T>
struct ValueOption {
  std::string_view name;
  std::optional<T> TrainingValues::*value;
};

namespace value_options {
inline constexpr ValueOption<std::vector<Schedule>> schedule{"--schedule",
                                                             &TrainingValues::schedules};
inline constexpr ValueOption<std::vector<Synchronisation>> synchronisation{
    "--synchronisation", &TrainingValues::synchronisations};
inline constexpr ValueOption<std::vector<int>> servers{"--servers", &TrainingValues::servers};
inline constexpr ValueOption<std::vector<Sharding>> sharding{"--sharding",
                                                             &TrainingValues::shardings};
inline constexpr ValueOption<std::vector<Transport>> transport{"--transport",
                                                               &TrainingValues::transports};
inline constexpr ValueOption<std::vector<Callers>> callers{"--callers", &TrainingValues::callers};
inline constexpr ValueOption<Seconds> cycle{"--cycle", &TrainingValues::cycle};
inline constexpr ValueOption<Bytes> fusion_threshold{"--fusion-threshold",
                                                     &TrainingValues::fusion_threshold};
inline constexpr ValueOption<Bytes> bucket{"--bucket", &TrainingValues::bucket};
inline constexpr ValueOption<Bytes> first_bucket{"--first-bucket", &TrainingValues::first_bucket};
inline constexpr ValueOption<Bytes> partition{"--partition", &TrainingValues::partition};
inline constexpr ValueOption<int> credit{"--credit", &TrainingValues::credit};
inline constexpr ValueOption<InputCopy> input_copy{"--input-copy", &TrainingValues::input_copy};
inline constexpr ValueOption<Launch> launch{"--launch", &TrainingValues::launch};
inline constexpr ValueOption<std::string> all_reduce{"--all-reduce", &TrainingValues::all_reduce};
}  // namespace value_options

/// The values of `above`, and those of `below` where it has none: overlay(profile, typed).
TrainingValues overlay(const TrainingValues& below, const TrainingValues& above);

/// The first value of each list, and the other values of the exchange of gradients.
ExchangeValues exchange_of(const TrainingValues& values);

}  // namespace dlscale::app
