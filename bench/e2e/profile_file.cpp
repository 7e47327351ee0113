#include "bench/e2e/profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/build_info.hpp"
#include "core/system/output_file.hpp"
#include "core/system/this_command_line.hpp"
#include "train/data/random.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using Iterations = std::vector<std::vector<train::SentMessage>>;

/// A fingerprint that is equal on ranks that sent the same messages; below 2^53, so exact as a
/// double.
double fingerprint(const Iterations& iterations) {
  std::uint64_t hash = iterations.size();
  for (const auto& iteration : iterations) {
    hash = train::mix(hash, iteration.size());
    for (const train::SentMessage& message : iteration) {
      hash = train::mix(hash, static_cast<std::uint64_t>(message.kind));
      hash = train::mix(hash, message.bytes);
      hash = train::mix(hash, static_cast<std::uint64_t>(message.root.value_or(-1)));
      hash = train::mix(hash, message.layers);
    }
  }
  return static_cast<double>(hash >> 11U);
}

void expect_the_same(Communicator& communicator, const Iterations& iterations) {
  const double mine = fingerprint(iterations);
  std::array<double, 2> extremes{mine, -mine};
  communicator.all_reduce(std::span<double>(extremes), backend::Reduction::max);
  EXPECT(extremes[0] == -extremes[1]);
}

/// Rewrites an error about the results file, in which core/ names -o, to name --profile.
ConfigError about_profile(const ConfigError& error) {
  std::string text = error.what();
  constexpr std::string_view option = "-o.";
  if (text.ends_with(option)) {
    text.replace(text.size() - option.size(), option.size(), option_name("profile") + ".");
  }
  return ConfigError(text);
}

/// Posting time, wait, time and number in flight of every message in turn.
std::vector<double> times_of(const Iterations& iterations) {
  std::vector<double> times;
  for (const auto& iteration : iterations) {
    for (const train::SentMessage& message : iteration) {
      times.insert(times.end(), {message.posted.si(), message.wait.si(), message.time.si(),
                                 static_cast<double>(message.under_way)});
    }
  }
  return times;
}

/// Combines the times of all ranks, from index `at`, into a message.
ProfiledMessage joined(const train::SentMessage& mine,
                       const std::vector<std::vector<double>>& times, std::size_t at) {
  ProfiledMessage message{.collective = std::string(to_string(mine.kind)),
                          .bytes = static_cast<std::int64_t>(mine.bytes)};
  message.root = mine.root;
  message.layers = mine.layers;
  for (const std::vector<double>& rank : times) {
    message.posted.emplace_back(rank[at]);
    message.wait.emplace_back(rank[at + 1]);
    message.time.emplace_back(rank[at + 2]);
    message.under_way = std::max(message.under_way, static_cast<std::size_t>(rank[at + 3]));
  }
  return message;
}

}  // namespace

ProfileFile::ProfileFile(std::filesystem::path path, std::map<std::string, std::string> options)
    : path_(std::move(path)), options_(std::move(options)) {}

ProfileFile::~ProfileFile() {
  if (!writer_ || pending_signal() != 0 || std::uncaught_exceptions() > 0) return;
  try {
    writer_->finish();
  } catch (const std::exception& error) {
    fmt::print(stderr, "dlscale: {}\n", error.what());
  }
}

void ProfileFile::open(const std::map<std::string, std::string>& libraries) {
  if (writer_) return;
  refuse_shared_output(path_, fmt::format("{} {}", option_name("profile"), path_.string()));
  ResultHeader header;
  header.benchmark = profile_benchmark;
  header.command = this_command_line();
  header.run = options_;
  header.run["build"] = build_id();
  header.environment = capture_environment();
  header.environment.libraries = libraries;
  try {
    writer_.emplace(path_, header);
  } catch (const ConfigError& error) {
    throw about_profile(error);
  }
}

void ProfileFile::open_on_first(Communicator& communicator,
                                const std::map<std::string, std::string>& libraries) {
  std::array<char, 1024> problem{};  // zeros: no problem; long texts are truncated
  if (communicator.rank() == 0) {
    try {
      open(libraries);
    } catch (const ConfigError& error) {
      const std::string_view text = error.what();
      std::ranges::copy(text.substr(0, problem.size() - 1), problem.begin());
    }
  }
  communicator.broadcast(std::as_writable_bytes(std::span(problem)), 0);
  if (problem.front() != 0) throw backend::FoundByAll(ExitCode::bad_input, problem.data());
}

void ProfileFile::write(const CommunicationProfile& profile) {
  EXPECT(writer_.has_value());
  if (!written_.insert(profile.axes).second) {
    throw ConfigError(fmt::format(
        "{} holds the messages of this run already, of another repetition, from which nothing "
        "would tell them. Start the program once for each, with its own {} and {}.",
        path_.string(), option_name("repeat"), option_name("profile")));
  }
  try {
    for (const Measurement& row : profile_rows(profile)) writer_->write(row);
  } catch (const ConfigError& error) {
    throw about_profile(error);
  }
}

std::optional<CommunicationProfile> gather_profile(Communicator& communicator,
                                                   const Iterations& iterations) {
  expect_the_same(communicator, iterations);
  const bool sent =
      std::ranges::all_of(iterations, [](const auto& iteration) { return !iteration.empty(); });
  if (iterations.empty() || !sent) return std::nullopt;
  const std::vector<std::vector<double>> times =
      gather_on_ranks(communicator, times_of(iterations));
  CommunicationProfile profile{.library = communicator.library()};
  std::size_t at = 0;
  for (const auto& iteration : iterations) {
    auto& messages = profile.iterations.emplace_back();
    for (const train::SentMessage& message : iteration) {
      messages.push_back(joined(message, times, at));
      at += 4;
    }
  }
  return profile;
}

}  // namespace dlscale::bench
