#include "model/published/scaling/facts/framework_traits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>

#include "core/text/quantity_text.hpp"

namespace dlscale::model::scaling {
namespace {

/// The first release of a version [releases of the projects' repositories].
struct Version {
  std::string_view framework;  ///< in lower case
  int first;
  int second;
  ReleaseMonth month;
};

constexpr std::array<Version, 68> versions{{
    {"torch", 0, 4, {2018, 4}},        {"torch", 1, 0, {2018, 12}},
    {"torch", 1, 1, {2019, 5}},        {"torch", 1, 2, {2019, 8}},
    {"torch", 1, 3, {2019, 10}},       {"torch", 1, 4, {2020, 1}},
    {"torch", 1, 5, {2020, 4}},        {"torch", 1, 6, {2020, 7}},
    {"torch", 1, 7, {2020, 10}},       {"torch", 1, 8, {2021, 3}},
    {"torch", 1, 9, {2021, 6}},        {"torch", 1, 10, {2021, 10}},
    {"torch", 1, 11, {2022, 3}},       {"torch", 1, 12, {2022, 6}},
    {"torch", 1, 13, {2022, 10}},      {"torch", 2, 0, {2023, 3}},
    {"torch", 2, 1, {2023, 10}},       {"torch", 2, 2, {2024, 1}},
    {"torch", 2, 3, {2024, 4}},        {"torch", 2, 4, {2024, 7}},
    {"torch", 2, 5, {2024, 10}},       {"torch", 2, 6, {2025, 1}},
    {"tensorflow", 1, 0, {2017, 2}},   {"tensorflow", 1, 1, {2017, 4}},
    {"tensorflow", 1, 2, {2017, 6}},   {"tensorflow", 1, 3, {2017, 8}},
    {"tensorflow", 1, 4, {2017, 11}},  {"tensorflow", 1, 5, {2018, 1}},
    {"tensorflow", 1, 6, {2018, 3}},   {"tensorflow", 1, 7, {2018, 3}},
    {"tensorflow", 1, 8, {2018, 4}},   {"tensorflow", 1, 9, {2018, 7}},
    {"tensorflow", 1, 10, {2018, 8}},  {"tensorflow", 1, 11, {2018, 9}},
    {"tensorflow", 1, 12, {2018, 11}}, {"tensorflow", 1, 13, {2019, 2}},
    {"tensorflow", 1, 14, {2019, 6}},  {"tensorflow", 1, 15, {2019, 10}},
    {"tensorflow", 2, 0, {2019, 9}},   {"tensorflow", 2, 1, {2020, 1}},
    {"tensorflow", 2, 2, {2020, 5}},   {"tensorflow", 2, 3, {2020, 7}},
    {"tensorflow", 2, 4, {2020, 12}},  {"tensorflow", 2, 5, {2021, 5}},
    {"tensorflow", 2, 6, {2021, 8}},   {"tensorflow", 2, 7, {2021, 11}},
    {"mxnet", 0, 10, {2017, 5}},       {"mxnet", 0, 11, {2017, 8}},
    {"mxnet", 0, 12, {2017, 10}},      {"mxnet", 1, 0, {2017, 12}},
    {"mxnet", 1, 1, {2018, 2}},        {"mxnet", 1, 2, {2018, 5}},
    {"mxnet", 1, 3, {2018, 9}},        {"mxnet", 1, 4, {2019, 2}},
    {"mxnet", 1, 5, {2019, 7}},        {"mxnet", 1, 6, {2020, 2}},
    {"mxnet", 1, 7, {2020, 8}},        {"mxnet", 1, 8, {2021, 3}},
    {"horovod", 0, 16, {2019, 2}},     {"horovod", 0, 18, {2019, 9}},
    {"horovod", 0, 19, {2020, 1}},     {"horovod", 0, 20, {2020, 9}},
    {"horovod", 0, 21, {2020, 11}},    {"horovod", 0, 22, {2021, 5}},
    {"horovod", 0, 23, {2021, 10}},    {"caffe", 0, 15, {2016, 6}},
    {"caffe", 0, 16, {2017, 2}},       {"cntk", 2, 0, {2017, 6}},
}};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Two numbers separated by a dot, and the rest of the text.
struct Numbers {
  int first;
  int second;
  std::size_t first_digits;
  std::size_t second_digits;
};

std::size_t digits_at_start(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

/// A number of at most four digits, which fits an int.
std::optional<int> number(std::string_view digits) {
  if (digits.empty() || digits.size() > 4) return {};
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// The numbers at the start of `text`: "21.05-tf1" gives 21 and 5.
std::optional<Numbers> numbers_at_start(std::string_view text) {
  const std::size_t first_digits = digits_at_start(text);
  if (first_digits >= text.size() || text[first_digits] != '.') return {};
  const std::string_view rest = text.substr(first_digits + 1);
  const std::size_t second_digits = digits_at_start(rest);
  const auto first = number(text.substr(0, first_digits));
  const auto second = number(rest.substr(0, second_digits));
  if (!first || !second) return {};
  return Numbers{*first, *second, first_digits, second_digits};
}

/// Container names consist of year and month with two digits each, from 16.12 on.
std::optional<ReleaseMonth> container(const Numbers& numbers) {
  const auto& [year, month, year_digits, month_digits] = numbers;
  const bool is_container = year_digits == 2 && month_digits == 2 && year >= 16 && year <= 39 &&
                            month >= 1 && month <= 12;
  if (!is_container) return {};
  return ReleaseMonth{2000 + year, month};
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  return small;
}

/// The word before a number: the letters before its spaces and signs.
std::string_view word_before(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" ,:=_-v");
  if (end == std::string_view::npos) return {};
  return text.substr(0, end + 1);
}

std::optional<ReleaseMonth> version(std::string_view before, const Numbers& numbers) {
  const std::string_view word = word_before(before);
  for (const Version& known : versions) {
    if (word.ends_with(known.framework) && known.first == numbers.first &&
        known.second == numbers.second) {
      return known.month;
    }
  }
  return {};
}

/// Half of the published trainings are older, half newer.
/// NCCL 2.4 introduced double binary trees [release notes of NCCL 2.4.2]; containers have it since.
constexpr ReleaseMonth first_trees{2019, 2};
/// NCCL 1 has one ring; NCCL 2.0 came in August 2017 [its release notes].
constexpr ReleaseMonth several_rings{2017, 8};
/// The most bytes of a message if a profile does not state it: the limit of Horovod, and close to
/// that of most others.
constexpr Bytes usual_bucket{64e6};

template <class T>
bool is(const Fact<T>& fact, T value) {
  return fact.is_stated() && fact.value() == value;
}

ReleaseMonth within(ReleaseMonth month, const FrameworkProfile& profile) {
  if (profile.since) month = std::max(month, *profile.since);
  if (profile.until) month = std::min(month, *profile.until);
  return month;
}

/// Whether a library other than NCCL is known to carry gradients.
bool without_nccl(const FrameworkProfile& profile) {
  const auto other = [](const Fact<GradientLibrary>& library) {
    return library.is_stated() && library.value() != GradientLibrary::nccl;
  };
  return other(profile.in_node);
}

Grouping grouping(const FrameworkProfile& profile, bool coordinator) {
  if (is(profile.groups, 1)) return Grouping::single;
  return coordinator ? Grouping::by_time : Grouping::by_bytes;
}

Bytes bucket(const FrameworkProfile& profile) {
  if (profile.bucket.is_stated()) return profile.bucket.value();
  return profile.fusion_threshold.is_stated() ? profile.fusion_threshold.value() : usual_bucket;
}

/// Whether gradients pass through host memory. MPI and gloo use it, unless they also carry
/// gradients within nodes and so know the device's memory.
bool over_host(const FrameworkProfile& profile) {
  return is(profile.gradients, GradientPath::all_reduce) &&
         (is(profile.between_nodes, GradientLibrary::gloo) ||
          (is(profile.between_nodes, GradientLibrary::mpi) &&
           !is(profile.in_node, GradientLibrary::mpi)));
}

/// How kernels are launched. A library for gradients may leave computing to another framework,
/// which the text then also names: "PyTorch + Horovod".
Fact<KernelLaunch> launch_of(const FrameworkProfile& profile, std::string_view text,
                             const std::vector<FrameworkProfile>& profiles, ReleaseMonth released) {
  if (profile.launch.is_stated()) return profile.launch;
  std::vector<FrameworkProfile> launching;
  std::copy_if(profiles.begin(), profiles.end(), std::back_inserter(launching),
               [&](const FrameworkProfile& other) {
                 return other.launch.is_stated() && within(released, other) == released;
               });
  const FrameworkProfile* other = find_framework(launching, text, released);
  return other == nullptr ? profile.launch : other->launch;
}

/// How a node adds gradients for servers. A profile of all-reduces does not say it: its library
/// then adds them, or else the host.
NodeSum node_sum(const FrameworkProfile& profile) {
  if (profile.node_sum.is_stated()) return profile.node_sum.value();
  return is(profile.in_node, GradientLibrary::nccl) ? NodeSum::ring : NodeSum::host;
}

/// Whether gradients travel by sockets even where links offer RDMA: gRPC, NCCL without it, and
/// ps-lite unless a collective library of the GPUs feeds it, as in BytePS, which can be built with
/// RDMA.
bool by_sockets(const FrameworkProfile& profile) {
  return is(profile.between_nodes, GradientLibrary::grpc) ||
         is(profile.between_nodes, GradientLibrary::nccl_tcp) ||
         (is(profile.between_nodes, GradientLibrary::ps_lite) &&
          !is(profile.in_node, GradientLibrary::nccl));
}

FrameworkTraits traits_with(const FrameworkProfile& profile, const Fact<KernelLaunch>& launch,
                            ReleaseMonth released) {
  FrameworkTraits traits;
  traits.family = profile.name;
  traits.coordinator = is(profile.negotiation, Negotiation::per_tensor);
  if (profile.fusion_cycle.is_stated()) traits.fusion_cycle = profile.fusion_cycle.value();
  traits.grouping = grouping(profile, traits.coordinator);
  // Ready tensors are fused, even if every tensor could be sent alone.
  if (profile.fusion_threshold.is_stated() && !traits.coordinator) {
    traits.unfused = Grouping::by_time;
  }
  traits.bucket = bucket(profile);
  traits.first_bucket =
      profile.first_bucket.is_stated() ? profile.first_bucket.value() : traits.bucket;
  traits.eager = is(launch, KernelLaunch::eager);
  traits.graphs = is(launch, KernelLaunch::recorded);
  traits.rings_only = released < first_trees && !without_nccl(profile);
  traits.one_ring = released < several_rings && !without_nccl(profile);
  traits.over_host = over_host(profile);
  traits.over_sockets = by_sockets(profile);
  traits.transport_unknown = profile.between_nodes.is_unknown();
  traits.servers = is(profile.gradients, GradientPath::parameter_server);
  traits.node_sum = node_sum(profile);
  if (profile.sharding.is_stated()) traits.sharding = profile.sharding.value();
  traits.overlap_unknown = profile.schedule.is_unknown();
  traits.packs_all = is(profile.schedule, Schedule::sequential);
  return traits;
}

FrameworkTraits unknown_traits(ReleaseMonth released) {
  FrameworkTraits traits;
  traits.bucket = usual_bucket;
  traits.first_bucket = usual_bucket;
  traits.rings_only = released < first_trees;
  traits.one_ring = released < several_rings;
  return traits;
}

}  // namespace

std::optional<ReleaseMonth> stated_release(std::string_view text) {
  const std::string small = in_small_letters(text);
  const std::string_view all = small;
  std::optional<ReleaseMonth> latest;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool in_number = at > 0 && (is_digit(all[at - 1]) || all[at - 1] == '.');
    if (!is_digit(all[at]) || in_number) continue;
    const auto numbers = numbers_at_start(all.substr(at));
    if (!numbers) continue;
    auto month = version(all.substr(0, at), *numbers);
    if (!month) month = container(*numbers);
    if (month && (!latest || *latest < *month)) latest = month;
  }
  return latest;
}

FrameworkTraits framework_traits(std::string_view text, std::string_view network,
                                 const std::vector<FrameworkProfile>& profiles,
                                 std::vector<std::string>& guesses) {
  const std::optional<ReleaseMonth> stated = stated_release(text);
  const ReleaseMonth released = stated.value_or(unstated_release);
  const std::string all = fmt::format("{}, {}", text, network);
  const FrameworkProfile* profile = find_framework(profiles, all, released);
  if (profile == nullptr) {
    guesses.push_back(
        fmt::format("no profile of configs/frameworks is meant by \"{}\": taken for one that sends "
                    "buckets of {} by NCCL",
                    text, to_text(usual_bucket)));
    return unknown_traits(released);
  }
  return traits_with(*profile, launch_of(*profile, text, profiles, released),
                     stated ? *stated : within(released, *profile));
}

FrameworkTraits traits_of(const FrameworkProfile& profile, ReleaseMonth released) {
  FrameworkTraits traits = traits_with(profile, profile.launch, within(released, profile));
  if (profile.launch.is_unknown() && profile.input_copy.is_none()) traits.eager = true;
  return traits;
}

}  // namespace dlscale::model::scaling
