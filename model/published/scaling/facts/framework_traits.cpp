#include "model/published/scaling/facts/framework_traits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/text/quantity_text.hpp"
#include "model/published/scaling/facts/release_date.hpp"

namespace dlscale::model::scaling {
namespace {

/// Half of the published trainings are older, half newer.
constexpr ReleaseMonth unstated_release{2020, 7};
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

FrameworkTraits traits_of(const FrameworkProfile& profile, const Fact<KernelLaunch>& launch,
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
  traits.over_rpc = is(profile.gradients, GradientPath::all_reduce) &&
                    is(profile.between_nodes, GradientLibrary::grpc);
  if (profile.sharding.is_stated()) traits.sharding = profile.sharding.value();
  traits.packs_all = is(profile.schedule, Schedule::sequential);
  return traits;
}

FrameworkTraits unknown_traits(ReleaseMonth released) {
  FrameworkTraits traits;
  traits.family = "unknown framework";
  traits.bucket = usual_bucket;
  traits.first_bucket = usual_bucket;
  traits.rings_only = released < first_trees;
  traits.one_ring = released < several_rings;
  return traits;
}

}  // namespace

FrameworkTraits framework_traits(std::string_view text,
                                 const std::vector<FrameworkProfile>& profiles,
                                 std::vector<std::string>& guesses) {
  const std::optional<ReleaseMonth> stated = stated_release(text);
  const ReleaseMonth released = stated.value_or(unstated_release);
  const FrameworkProfile* profile = find_framework(profiles, text, released);
  if (profile == nullptr) {
    guesses.push_back(
        fmt::format("no profile of configs/frameworks is meant by \"{}\": taken for one that sends "
                    "buckets of {} by NCCL",
                    text, to_text(usual_bucket)));
    return unknown_traits(released);
  }
  return traits_of(*profile, launch_of(*profile, text, profiles, released),
                   stated ? *stated : within(released, *profile));
}

}  // namespace dlscale::model::scaling
