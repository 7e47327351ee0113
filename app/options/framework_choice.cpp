#include "app/options/framework_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/run/schedule_settings.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

std::string size_text(const Fact<Bytes>& fact) {
  if (fact.is_unknown()) return "unknown";
  return fact.is_none() ? "none" : to_text(fact.value());
}

class Following {
 public:
  Following(const FrameworkProfile& profile, const AskedByHand& asked)
      : profile_(profile), asked_(asked) {}

  FrameworkChoice choice() {
    follow_gradients();
    follow_schedule();
    follow_sizes();
    follow_sharding();
    follow_transport();
    follow_callers();
    follow_libraries();
    follow_input_copy();
    follow_launch();
    follow_negotiation();
    follow_update();
    return {std::move(options_), notes()};
  }

 private:
  struct Setting {
    std::string_view property;
    std::string_view option;
    bool has_effect;
  };

  /// Sets an option unless it was explicit, which a note then says.
  void set(std::string_view property, std::string_view shown, std::string_view option,
           std::string value) {
    if (asked_.has(option)) {
      by_hand_.push_back(fmt::format("{} in place of {} {}", option, property, shown));
      return;
    }
    options_.emplace_back(std::string(option), std::move(value));
    told_.push_back(fmt::format("{} {}", property, shown));
  }
  void cannot(std::string sentence) { not_followed_.push_back(std::move(sentence)); }
  /// Notes an unknown property, unless an explicit option makes it irrelevant.
  template <class T>
  void note_unknown(std::string_view property, const Fact<T>& fact, bool said_by_hand = false) {
    if (fact.is_unknown() && !said_by_hand) unknown_.emplace_back(property);
  }

  [[nodiscard]] bool by_server() const {
    return asked_.synchronisations
               ? std::ranges::count(*asked_.synchronisations, Synchronisation::parameter_server) > 0
               : by_server_;
  }
  /// Whether exactly this path was requested explicitly.
  [[nodiscard]] bool is_asked(GradientPath path) const {
    const std::vector<Synchronisation>& all = *asked_.synchronisations;
    if (path == GradientPath::all_reduce) return all == std::vector{Synchronisation::all_reduce};
    return path == GradientPath::parameter_server &&
           all == std::vector{Synchronisation::parameter_server};
  }
  [[nodiscard]] bool any_schedule(bool (*is)(Schedule)) const {
    return std::ranges::any_of(schedules_, is);
  }
  [[nodiscard]] bool has_schedule(Schedule one) const {
    return std::ranges::find(schedules_, one) != schedules_.end();
  }
  [[nodiscard]] bool on_gpu() const { return asked_.cluster->device.kind == DeviceKind::gpu; }
  [[nodiscard]] std::string schedule_names() const {
    std::vector<std::string_view> names;
    for (const Schedule one : schedules_) names.push_back(schedule_name(one));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void follow_gradients();
  void refuse_gradients(std::string_view why) const;
  void follow_schedule();
  void follow_groups();
  void follow_sizes();
  template <class Q>
  void follow_size(const Setting& setting, const Fact<Q>& fact);
  void follow_first_bucket(bool buckets);
  void follow_credit();
  void follow_sharding();
  void follow_transport();
  [[nodiscard]] bool calls_servers() const;
  void follow_callers();
  void follow_libraries();
  void follow_input_copy();
  void follow_launch();
  void follow_negotiation();
  void follow_update();
  [[nodiscard]] std::vector<std::string> notes() const;

  const FrameworkProfile& profile_;
  const AskedByHand& asked_;
  std::vector<Schedule> schedules_;
  bool by_server_ = false;
  bool packs_all_ = false;
  std::vector<std::pair<std::string, std::string>> options_;
  std::vector<std::string> told_;
  std::vector<std::string> by_hand_;
  std::vector<std::string> not_followed_;
  std::vector<std::string> unknown_;
};

void Following::refuse_gradients(std::string_view why) const {
  throw ConfigError(
      fmt::format("--framework {}: {}. Ask for --synchronisation all_reduce, to predict its other "
                  "properties with all-reduces, or for another framework.",
                  profile_.id, why));
}

void Following::follow_gradients() {
  if (!profile_.gradients.is_stated()) {
    note_unknown("gradients", profile_.gradients, asked_.synchronisations.has_value());
    return;
  }
  const GradientPath path = profile_.gradients.value();
  const std::string shown = to_text(profile_.gradients);
  if (asked_.synchronisations) {
    if (!is_asked(path)) set("gradients", shown, "--synchronisation", "");
    return;
  }
  switch (path) {
    case GradientPath::all_reduce:
      told_.push_back("gradients " + shown);
      return;
    case GradientPath::parameter_server:
      break;
    case GradientPath::reduce_broadcast:
      set("gradients", "reduce_broadcast (of one server)", "--synchronisation", "parameter_server");
      set("gradients", "by one rank", "--servers", "1");
      by_server_ = true;
      return;
    case GradientPath::replicated_copy:
      refuse_gradients(
          "its gradients are copied to one another and added without a library of collectives, "
          "which dlscale does not model");
  }
  const bool orders_all_reduces =
      profile_.schedule.is_stated() && !goes_with_server(profile_.schedule.value());
  if (orders_all_reduces && !asked_.schedules) {
    refuse_gradients(fmt::format(
        "its gradients go to parameter servers by {}, and the model knows {} of all-reduces alone",
        to_text(profile_.schedule), to_text(profile_.schedule)));
  }
  by_server_ = true;
  set("gradients", shown, "--synchronisation", "parameter_server");
}

void Following::follow_schedule() {
  if (asked_.schedules) {
    schedules_ = *asked_.schedules;
    if (profile_.schedule.is_stated() && schedules_ != std::vector{profile_.schedule.value()}) {
      set("schedule", to_text(profile_.schedule), "--schedule", "");
    }
    return;
  }
  follow_groups();
  if (packs_all_) return;
  if (!profile_.schedule.is_stated()) {
    note_unknown("schedule", profile_.schedule);
    schedules_ = asked_.usual_schedules;
    return;
  }
  schedules_ = {profile_.schedule.value()};
  const std::string name(schedule_name(schedules_.front()));
  set("schedule", name, "--schedule", name);
}

/// Translates groups into buckets that hold all gradients, or the group's part of them.
void Following::follow_groups() {
  if (!profile_.groups.is_stated()) return;
  const int messages = profile_.groups.value();
  const bool after_backward =
      profile_.schedule.is_stated() && profile_.schedule.value() == Schedule::sequential;
  const bool buckets = profile_.schedule.is_stated() &&
                       profile_.schedule.value() == Schedule::bucketed &&
                       !profile_.bucket.is_stated();
  if (!(after_backward && messages == 1) && !buckets) {
    cannot(fmt::format("groups {} with schedule {}", messages, to_text(profile_.schedule)));
    return;
  }
  packs_all_ = true;
  schedules_ = {Schedule::bucketed};
  set("schedule", to_text(profile_.schedule), "--schedule",
      std::string(schedule_name(Schedule::bucketed)));
  const Bytes size(std::max(4.0, std::ceil(asked_.gradients.si() / messages)));
  set("groups",
      fmt::format("{} (buckets of {}, {} all gradients)", messages, to_text(size),
                  messages == 1 ? "which is" : fmt::format("1 / {} of", messages)),
      "--bucket", fmt::format("{:.0f} B", size.si()));
}

template <class Q>
void Following::follow_size(const Setting& setting, const Fact<Q>& fact) {
  if (!fact.is_stated()) {
    note_unknown(setting.property, fact, !setting.has_effect || asked_.has(setting.option));
    return;
  }
  if (setting.has_effect) {
    const bool time = std::is_same_v<Q, Seconds>;
    set(setting.property, to_text(fact.value()), setting.option,
        fmt::format("{} {}", fact.value().si(), time ? "s" : "B"));
  } else {
    cannot(fmt::format("{} {}, which changes nothing under {}", setting.property,
                       to_text(fact.value()), schedule_names()));
  }
}

void Following::follow_sizes() {
  const bool buckets = any_schedule(has_buckets);
  const bool packs = has_schedule(Schedule::horovod);
  if (asked_.sizes_of_buckets) {
    by_hand_.push_back(fmt::format("--buckets in place of bucket {}", size_text(profile_.bucket)));
  } else if (!packs_all_) {
    follow_size({"bucket", "--bucket", buckets}, profile_.bucket);
    follow_first_bucket(buckets);
  }
  follow_size({"fusion_threshold", "--fusion-threshold", packs}, profile_.fusion_threshold);
  follow_size({"fusion_cycle", "--cycle", packs}, profile_.fusion_cycle);
  follow_size({"partition", "--partition", has_schedule(Schedule::priority)}, profile_.partition);
  follow_credit();
}

/// Sets the first bucket. An explicit --bucket without --first-bucket is the size of all buckets.
void Following::follow_first_bucket(bool buckets) {
  if (asked_.has("--bucket")) return;
  follow_size({"first_bucket", "--first-bucket", buckets}, profile_.first_bucket);
  if (!buckets || !profile_.first_bucket.is_unknown() || !profile_.bucket.is_stated()) return;
  if (asked_.has("--first-bucket")) return;
  const Bytes usual = std::min(first_bucket_limit, profile_.bucket.value());
  options_.emplace_back("--first-bucket", fmt::format("{} B", usual.si()));
}

/// Converts the credit from bytes to parts.
void Following::follow_credit() {
  const bool priority = has_schedule(Schedule::priority);
  if (!profile_.credit.is_stated()) {
    note_unknown("credit", profile_.credit, !priority || asked_.has("--credit"));
    return;
  }
  if (!priority) {
    cannot(fmt::format("credit {}, which changes nothing under {}",
                       to_text(profile_.credit.value()), schedule_names()));
    return;
  }
  if (!profile_.partition.is_stated()) {
    cannot(fmt::format("credit {}, of parts that are not known", to_text(profile_.credit.value())));
    return;
  }
  const double parts =
      std::max(1.0, std::floor(profile_.credit.value() / profile_.partition.value()));
  set("credit", fmt::format("{} ({:.0f} parts)", to_text(profile_.credit.value()), parts),
      "--credit", fmt::format("{:.0f}", parts));
}

void Following::follow_sharding() {
  if (!by_server()) return;
  if (!profile_.sharding.is_stated()) {
    note_unknown("sharding", profile_.sharding, asked_.has("--sharding"));
    return;
  }
  const Sharding rule = profile_.sharding.value();
  const bool goes = std::ranges::any_of(
      schedules_, [rule](Schedule one) { return goes_with_sharding(one, rule); });
  if (goes) {
    set("sharding", sharding_name(rule), "--sharding", std::string(sharding_name(rule)));
  } else {
    cannot(fmt::format("sharding {} under {}", sharding_name(rule), schedule_names()));
  }
}

/// Sets the transport of servers; all-reduces have none. Messages to servers by a library without
/// its own model are collectives, as follow_libraries() says.
void Following::follow_transport() {
  if (!by_server() || !profile_.between_nodes.is_stated() ||
      profile_.between_nodes.value() != GradientLibrary::grpc) {
    return;
  }
  const std::string name(transport_name(Transport::grpc));
  set("between_nodes", name, "--transport", name);
}

bool Following::calls_servers() const {
  if (!by_server()) return false;
  if (asked_.transports) {
    return std::ranges::any_of(*asked_.transports,
                               [](Transport one) { return one != Transport::collectives; });
  }
  return profile_.between_nodes.is_stated() &&
         profile_.between_nodes.value() == GradientLibrary::grpc;
}

void Following::follow_callers() {
  if (!by_server()) return;
  if (!profile_.callers.is_stated()) {
    note_unknown("callers", profile_.callers, asked_.has("--callers"));
    return;
  }
  const std::string name(callers_name(profile_.callers.value()));
  if (calls_servers()) {
    set("callers", name, "--callers", name);
  } else {
    cannot(fmt::format(
        "callers {}: in collectives all ranks take part (--transport grpc has calls)", name));
  }
}

void Following::follow_libraries() {
  const auto is_nccl = [](const Fact<GradientLibrary>& fact) {
    return fact.is_stated() && fact.value() == GradientLibrary::nccl;
  };
  const bool nccl = is_nccl(profile_.in_node) &&
                    (is_nccl(profile_.between_nodes) || profile_.between_nodes.is_none());
  const std::string carried =
      fmt::format("carried by {} in a node and {} between nodes", to_text(profile_.in_node),
                  to_text(profile_.between_nodes));
  if (asked_.has("--all-reduce")) {
    by_hand_.push_back("--all-reduce in place of gradients " + carried);
  } else if (asked_.fitted) {
    cannot(fmt::format("gradients {}: messages take what was measured on the machine", carried));
  } else if (calls_servers()) {
    cannot(
        fmt::format("gradients carried by {} in a node: ranks of a node reach its host, or one "
                    "another, over the links of data sheets",
                    to_text(profile_.in_node)));
  } else if (!nccl || by_server()) {
    cannot(fmt::format("gradients {}: messages take what data sheets say of the links", carried));
  } else if (!asked_.cluster->nccl || asked_.has("--sharp")) {
    cannot(fmt::format("gradients {}, whose costs cluster {} does not say", carried,
                       asked_.cluster->name));
  } else {
    set("gradients", carried, "--all-reduce", "nccl");
  }
}

void Following::follow_input_copy() {
  if (!profile_.input_copy.is_stated()) {
    note_unknown("input_copy", profile_.input_copy, asked_.has("--input-copy"));
    return;
  }
  const std::string shown = to_text(profile_.input_copy);
  if (!on_gpu()) {
    cannot(fmt::format("input_copy {}, for processors have no memory of their own", shown));
    return;
  }
  const InputCopy copy =
      profile_.input_copy.value() == HostMemory::pinned ? InputCopy::ahead : InputCopy::on_path;
  set("input_copy", fmt::format("{} ({})", shown, input_copy_name(copy)), "--input-copy",
      std::string(input_copy_name(copy)));
}

void Following::follow_launch() {
  if (!profile_.launch.is_stated()) {
    note_unknown("launch", profile_.launch, asked_.has("--launch"));
    return;
  }
  const std::string shown = to_text(profile_.launch);
  const bool recorded = profile_.launch.value() == KernelLaunch::recorded;
  if (recorded && (!on_gpu() || any_schedule(overlaps_next_forward))) {
    cannot(fmt::format(
        "launch {}, which {}", shown,
        on_gpu() ? fmt::format("{} cannot be", schedule_names()) : "processors do not know"));
    return;
  }
  const Launch launch = recorded ? Launch::graph : Launch::eager;
  set("launch", fmt::format("{} ({})", shown, launch_name(launch)), "--launch",
      std::string(launch_name(launch)));
}

void Following::follow_negotiation() {
  note_unknown("negotiation", profile_.negotiation);
  if (!profile_.negotiation.is_stated()) return;
  const std::string shown = to_text(profile_.negotiation);
  if (has_schedule(Schedule::horovod)) {
    told_.push_back(fmt::format("negotiation {} (a vote at each wake-up)", shown));
  } else if (has_schedule(Schedule::priority)) {
    told_.push_back(fmt::format("negotiation {} (a vote for each part)", shown));
  } else {
    cannot(fmt::format("negotiation {}, of which {} has no term", shown, schedule_names()));
  }
}

/// Notes the place of updates: the owners of parameters, or all ranks if there are no owners.
void Following::follow_update() {
  note_unknown("update_on", profile_.update_on);
  if (!profile_.update_on.is_stated()) return;
  const bool server = profile_.update_on.value() == UpdatePlace::server;
  const std::string shown = to_text(profile_.update_on);
  if (server != by_server()) {
    cannot(fmt::format("update_on {}: in the model {}", shown,
                       by_server() ? "servers update what they own" : "every rank updates all"));
  } else if (server && profile_.gradients.is_stated() &&
             profile_.gradients.value() == GradientPath::parameter_server) {
    cannot(
        "update_on server at the speed of a host: the servers of the model are ranks, and update "
        "on their devices");
  } else {
    told_.push_back("update_on " + shown);
  }
}

std::vector<std::string> Following::notes() const {
  const std::string place =
      fmt::format("configs/frameworks/{} ({} {})", profile_.id, profile_.name, profile_.versions);
  std::vector<std::string> all{told_.empty()
                                   ? fmt::format("by {}: nothing", place)
                                   : fmt::format("by {}: {}", place, fmt::join(told_, ", "))};
  const auto add = [&](std::string_view what, const std::vector<std::string>& texts) {
    if (!texts.empty()) all.push_back(fmt::format("{}: {}", what, fmt::join(texts, "; ")));
  };
  add("by hand", by_hand_);
  add("of it not followed", not_followed_);
  if (!unknown_.empty()) {
    all.push_back(fmt::format("of it not known, and so as usual: {}", fmt::join(unknown_, ", ")));
  }
  return all;
}

}  // namespace

FrameworkChoice framework_choice(const FrameworkProfile& profile, const AskedByHand& asked) {
  EXPECT(asked.cluster != nullptr && asked.has);
  return Following(profile, asked).choice();
}

}  // namespace dlscale::app
