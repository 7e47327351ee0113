#include "bench/comm/replay/replay_cells.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/comm/replay/replay.hpp"
#include "core/base/error.hpp"
#include "core/results/communication_profile.hpp"

namespace dlscale::bench {
namespace {

using Axes = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

/// The options that affect a replay.
constexpr std::array<std::string_view, 3> replay_axes{"replay", "gaps", "waiting"};

void refuse_idle_options(const Context& context) {
  for (const std::string& axis : context.given) {
    if (std::ranges::find(replay_axes, axis) != replay_axes.end()) continue;
    throw ConfigError(fmt::format(
        "--{} has no effect on --replay, where the profile says what is sent. Leave one of them "
        "out.",
        axis == "in_place" ? "in-place" : axis));
  }
}

Gaps parse_gaps(const std::string& text) {
  if (text == "recorded") return Gaps::recorded;
  if (text == "none") return Gaps::none;
  throw ConfigError(fmt::format("--gaps is \"{}\". Write recorded or none.", text));
}

std::string axis_or(const Axes& axes, const std::string& name, const std::string& otherwise) {
  const auto found = axes.find(name);
  return found == axes.end() ? otherwise : found->second;
}

/// The given wait policy, else the training's.
std::string waiting_of(const Context& context, const CommunicationProfile& profile) {
  const bool given = context.given.contains("waiting");
  std::string text = given ? context.value("waiting") : axis_or(profile.axes, "waiting", "sleep");
  if (text == "spin" || text == "sleep") return text;
  throw ConfigError(fmt::format("{} is \"{}\". Write spin or sleep.",
                                given ? "--waiting" : "the axis \"waiting\" of the profile", text));
}

std::vector<CommunicationProfile> load(const std::string& path) {
  const ResultFile file = read_results(path);
  std::vector<CommunicationProfile> profiles = read_profiles(file);
  if (!file.complete) {
    throw ConfigError(fmt::format(
        "{} ends early, so that messages may be missing. Write it anew with dlscale bench e2e "
        "--profile FILE.",
        path));
  }
  if (profiles.empty()) {
    throw ConfigError(fmt::format(
        "{} holds no messages. Write it anew with dlscale bench e2e --profile FILE.", path));
  }
  return profiles;
}

/// A warning if the number of ranks differs from the recording.
Words ranks_warnings(const CommunicationProfile& profile, const Axes& common) {
  if (common.at("ranks") == std::to_string(profile.ranks())) return {};
  return {fmt::format(
      "recorded on {} ranks and replayed on {}: the times stand side by side, but are of "
      "different work. Start {} ranks to compare them.",
      profile.ranks(), common.at("ranks"), profile.ranks())};
}

/// A warning if an earlier version wrote the profile, which then lacks concurrency and roots of
/// messages.
Words order_warnings(const CommunicationProfile& profile) {
  if (profile.tells_order) return {};
  const auto has_root = [](const ProfiledMessage& message) {
    return message.collective == "reduce" || message.collective == "broadcast";
  };
  const bool rooted = std::ranges::any_of(profile.iterations, [&](const auto& iteration) {
    return std::ranges::any_of(iteration, has_root);
  });
  if (!rooted && axis_or(profile.axes, "schedule", "") != "priority") return {};
  return {
      "the profile does not tell which messages travelled at once, nor between which ranks (an "
      "earlier version wrote it): they are sent one after the other, from or to rank 0. To send "
      "them as the training did, write it anew with dlscale bench e2e --profile FILE."};
}

/// A warning if the recorded training was interrupted.
Words interruption_warnings(const CommunicationProfile& profile) {
  if (profile.interruption.empty()) return {};
  return {
      fmt::format("the training that the profile is of was interrupted ({}): {} of its "
                  "iterations are replayed",
                  profile.interruption, profile.iterations.size())};
}

/// Makes a replay; ConfigErrors name the file of the profile.
std::shared_ptr<Replay> replay_of(ReplayPlan plan, int ranks, const std::string& path) {
  try {
    return std::make_shared<Replay>(std::move(plan), ranks);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", path, error.what()));
  }
}

/// Axes of these ranks, then of the recorded run except those that its messages do not share.
Axes run_axes(const CommunicationProfile& profile, const Axes& common, const Context& context) {
  Axes axes = common;
  axes["waiting"] = waiting_of(context, profile);
  axes["gaps"] = context.value("gaps");
  axes["recorded_ranks"] = std::to_string(profile.ranks());
  axes["dtype"] = "f32";
  axes.insert(profile.axes.begin(), profile.axes.end());
  return axes;
}

void add_cells(std::vector<Cell>& cells, const std::shared_ptr<Replay>& replay, const Axes& axes) {
  const auto add = [&](Axes more, const std::optional<ReplayedMessage>& what) {
    more.insert(axes.begin(), axes.end());
    cells.push_back({std::move(more), [replay, what](const Sampler& sampler) {
                       return replay->measure(what, sampler);
                     }});
  };
  add({{"message", "all"}}, std::nullopt);
  for (const ReplayedMessage& message : replay->messages()) {
    Axes more{{"message", std::to_string(message.place)},
              {"collective", message.collective},
              {"bytes", std::to_string(message.bytes)}};
    if (message.root) more["root"] = std::to_string(*message.root);
    add(std::move(more), message);
  }
}

}  // namespace

bool asks_for_replay(const Context& context) {
  return !context.value("replay").empty();
}

std::vector<Cell> replay_cells(const Context& context, const Axes& common,
                               const std::vector<std::string>& warnings) {
  refuse_idle_options(context);
  const Gaps gaps = parse_gaps(context.value("gaps"));
  std::vector<Cell> cells;
  for (CommunicationProfile& profile : load(context.value("replay"))) {
    const Axes axes = run_axes(profile, common, context);
    ReplayPlan plan{
        .gaps = gaps,
        .waiting = axes.at("waiting") == "spin" ? backend::Waiting::spin : backend::Waiting::sleep,
        .meets_each = axis_or(profile.axes, "schedule", "") != "sequential",
        .warnings = warnings};
    for (const Words& doubts : {ranks_warnings(profile, common), order_warnings(profile),
                                interruption_warnings(profile)}) {
      plan.warnings.insert(plan.warnings.end(), doubts.begin(), doubts.end());
    }
    plan.profile = std::move(profile);
    add_cells(cells,
              replay_of(std::move(plan), context.communicator->size(), context.value("replay")),
              axes);
  }
  return cells;
}

void refuse_replay_options(const Context& context) {
  if (!context.given.contains("gaps")) return;
  throw ConfigError(
      "--gaps has no effect without --replay. Leave it out, or name a profile with --replay FILE.");
}

}  // namespace dlscale::bench
