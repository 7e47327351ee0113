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
#include "model/published/scaling/facts/framework_traits.hpp"

namespace dlscale::app {
namespace {

std::string size_text(const Fact<Bytes>& fact) {
  if (fact.is_unknown()) return "unknown";
  return fact.is_none() ? "none" : to_text(fact.value());
}

class FrameworkDefaults {
 public:
  FrameworkDefaults(const FrameworkProfile& profile, const FrameworkQuestion& question)
      : profile_(profile), question_(question), typed_(question.typed) {}

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
    follow_compute();
    follow_negotiation();
    follow_update();
    return {std::move(values_), notes()};
  }

 private:
  template <class Q>
  struct Setting {
    std::string_view property;
    const ValueOption<Q>& option;
    bool has_effect;
  };

  template <class T>
  [[nodiscard]] bool is_typed(const ValueOption<T>& option) const {
    return (typed_.*option.value).has_value();
  }
  void note_typed(std::string_view option, std::string_view property, std::string_view shown) {
    by_hand_.push_back(fmt::format("{} in place of {} {}", option, property, shown));
  }
  /// Sets a value unless one was typed, which a note then says.
  template <class T>
  void set(std::string_view property, std::string_view shown, const ValueOption<T>& option,
           std::type_identity_t<T> value) {
    if (is_typed(option)) return note_typed(option.name, property, shown);
    values_.*option.value = std::move(value);
    told_.push_back(fmt::format("{} {}", property, shown));
  }
  void cannot(std::string sentence) { not_followed_.push_back(std::move(sentence)); }
  /// Notes an unknown property, unless an explicit option makes it irrelevant.
  template <class T>
  void note_unknown(std::string_view property, const Fact<T>& fact, bool said_by_hand = false) {
    if (fact.is_unknown() && !said_by_hand) unknown_.emplace_back(property);
  }

  [[nodiscard]] bool by_server() const {
    return typed_.synchronisations
               ? std::ranges::count(*typed_.synchronisations, Synchronisation::parameter_server) > 0
               : by_server_;
  }
  /// Whether exactly this path was requested explicitly.
  [[nodiscard]] bool is_asked(GradientPath path) const {
    const std::vector<Synchronisation>& all = *typed_.synchronisations;
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
  /// Whether its schedule orders messages, which a Run does not with servers.
  [[nodiscard]] bool orders_messages() const {
    return profile_.schedule.is_stated() && !goes_with_server(profile_.schedule.value());
  }
  [[nodiscard]] bool states(GradientPath path) const {
    return profile_.gradients.is_stated() && profile_.gradients.value() == path;
  }
  /// Whether the model of published servers follows its way to call them and to add in a node.
  [[nodiscard]] bool has_sheet_servers() const {
    return by_server() && !question_.fitted && !typed_.transports &&
           states(GradientPath::parameter_server);
  }
  [[nodiscard]] bool on_gpu() const { return question_.cluster->device.kind == DeviceKind::gpu; }
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
  void follow_size(const Setting<Q>& setting, const Fact<Q>& fact);
  void follow_first_bucket(bool buckets);
  void follow_credit();
  void follow_sharding();
  void follow_transport();
  [[nodiscard]] bool calls_servers() const;
  void follow_callers();
  void follow_libraries();
  void follow_input_copy();
  void follow_launch();
  void follow_compute();
  void follow_negotiation();
  void follow_update();
  [[nodiscard]] std::vector<std::string> notes() const;

  const FrameworkProfile& profile_;
  const FrameworkQuestion& question_;
  const TrainingValues& typed_;
  std::vector<Schedule> schedules_;
  bool by_server_ = false;
  bool packs_all_ = false;
  TrainingValues values_;
  std::vector<std::string> told_;
  std::vector<std::string> by_hand_;
  std::vector<std::string> not_followed_;
  std::vector<std::string> unknown_;
};

void FrameworkDefaults::refuse_gradients(std::string_view why) const {
  throw ConfigError(
      fmt::format("--framework {}: {}. Ask for --synchronisation all_reduce, to predict its other "
                  "properties with all-reduces, or for another framework.",
                  profile_.id, why));
}

void FrameworkDefaults::follow_gradients() {
  if (!profile_.gradients.is_stated()) {
    note_unknown("gradients", profile_.gradients, is_typed(value_options::synchronisation));
    return;
  }
  const GradientPath path = profile_.gradients.value();
  const std::string shown = to_text(profile_.gradients);
  if (typed_.synchronisations) {
    if (!is_asked(path)) note_typed(value_options::synchronisation.name, "gradients", shown);
    return;
  }
  switch (path) {
    case GradientPath::all_reduce:
      told_.push_back("gradients " + shown);
      return;
    case GradientPath::parameter_server:
      break;
    case GradientPath::reduce_broadcast:
      set("gradients", "reduce_broadcast (of one server)", value_options::synchronisation,
          {Synchronisation::parameter_server});
      set("gradients", "by one rank", value_options::servers, {1});
      by_server_ = true;
      return;
    case GradientPath::replicated_copy:
      refuse_gradients(
          "its gradients are copied to one another and added without a library of collectives, "
          "which dlscale does not model");
  }
  if (question_.fitted && orders_messages() && !typed_.schedules) {
    refuse_gradients(fmt::format(
        "its gradients go to parameter servers by {}, and the model knows {} of all-reduces alone",
        to_text(profile_.schedule), to_text(profile_.schedule)));
  }
  by_server_ = true;
  set("gradients", shown, value_options::synchronisation, {Synchronisation::parameter_server});
}

void FrameworkDefaults::follow_schedule() {
  if (typed_.schedules) {
    schedules_ = *typed_.schedules;
    if (profile_.schedule.is_stated() && schedules_ != std::vector{profile_.schedule.value()}) {
      note_typed(value_options::schedule.name, "schedule", to_text(profile_.schedule));
    }
    return;
  }
  follow_groups();
  if (packs_all_) return;
  if (!profile_.schedule.is_stated()) {
    note_unknown("schedule", profile_.schedule);
    schedules_ = question_.usual_schedules;
    return;
  }
  if (by_server_ && orders_messages()) {
    schedules_ = {Schedule::wait_free};
    const std::string shown = to_text(profile_.schedule) + " (as wait_free: servers know no order)";
    return set("schedule", shown, value_options::schedule, schedules_);
  }
  schedules_ = {profile_.schedule.value()};
  set("schedule", schedule_name(schedules_.front()), value_options::schedule, schedules_);
}

/// Translates groups into buckets that hold all gradients, or the group's part of them.
void FrameworkDefaults::follow_groups() {
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
  set("schedule", to_text(profile_.schedule), value_options::schedule, {Schedule::bucketed});
  const Bytes size(std::max(4.0, std::ceil(question_.gradients.si() / messages)));
  set("groups",
      fmt::format("{} (buckets of {}, {} all gradients)", messages, to_text(size),
                  messages == 1 ? "which is" : fmt::format("1 / {} of", messages)),
      value_options::bucket, size);
}

template <class Q>
void FrameworkDefaults::follow_size(const Setting<Q>& setting, const Fact<Q>& fact) {
  if (!fact.is_stated()) {
    note_unknown(setting.property, fact, !setting.has_effect || is_typed(setting.option));
    return;
  }
  if (setting.has_effect) {
    set(setting.property, to_text(fact.value()), setting.option, fact.value());
  } else {
    cannot(fmt::format("{} {}, which changes nothing under {}", setting.property,
                       to_text(fact.value()), schedule_names()));
  }
}

void FrameworkDefaults::follow_sizes() {
  const bool buckets = any_schedule(has_buckets);
  const bool packs = has_schedule(Schedule::horovod);
  if (question_.sizes_of_buckets) {
    by_hand_.push_back(fmt::format("--buckets in place of bucket {}", size_text(profile_.bucket)));
  } else if (!packs_all_) {
    follow_size<Bytes>({"bucket", value_options::bucket, buckets}, profile_.bucket);
    follow_first_bucket(buckets);
  }
  follow_size<Bytes>({"fusion_threshold", value_options::fusion_threshold, packs},
                     profile_.fusion_threshold);
  follow_size<Seconds>({"fusion_cycle", value_options::cycle, packs}, profile_.fusion_cycle);
  follow_size<Bytes>({"partition", value_options::partition, has_schedule(Schedule::priority)},
                     profile_.partition);
  follow_credit();
}

/// Sets the first bucket. An explicit --bucket without --first-bucket is the size of all buckets.
void FrameworkDefaults::follow_first_bucket(bool buckets) {
  if (is_typed(value_options::bucket)) return;
  follow_size<Bytes>({"first_bucket", value_options::first_bucket, buckets}, profile_.first_bucket);
  if (!buckets || !profile_.first_bucket.is_unknown() || !profile_.bucket.is_stated()) return;
  if (is_typed(value_options::first_bucket)) return;
  values_.first_bucket = std::min(first_bucket_limit, profile_.bucket.value());
}

/// Converts the credit from bytes to parts.
void FrameworkDefaults::follow_credit() {
  const bool priority = has_schedule(Schedule::priority);
  if (!profile_.credit.is_stated()) {
    note_unknown("credit", profile_.credit, !priority || is_typed(value_options::credit));
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
      value_options::credit, static_cast<int>(parts));
}

void FrameworkDefaults::follow_sharding() {
  if (!by_server()) return;
  if (!profile_.sharding.is_stated()) {
    note_unknown("sharding", profile_.sharding, is_typed(value_options::sharding));
    return;
  }
  const Sharding rule = profile_.sharding.value();
  const bool goes = std::ranges::any_of(
      schedules_, [rule](Schedule one) { return goes_with_sharding(one, rule); });
  if (goes) {
    set("sharding", sharding_name(rule), value_options::sharding, {rule});
  } else {
    cannot(fmt::format("sharding {} under {}", sharding_name(rule), schedule_names()));
  }
}

/// Sets the transport of servers; all-reduces have none. Messages to servers by a library without
/// its own model are collectives, as follow_libraries() says.
void FrameworkDefaults::follow_transport() {
  if (!by_server() || !profile_.between_nodes.is_stated() ||
      profile_.between_nodes.value() != GradientLibrary::grpc) {
    return;
  }
  set("between_nodes", transport_name(Transport::grpc), value_options::transport,
      {Transport::grpc});
}

bool FrameworkDefaults::calls_servers() const {
  if (!by_server()) return false;
  if (typed_.transports) {
    return std::ranges::any_of(*typed_.transports,
                               [](Transport one) { return one != Transport::collectives; });
  }
  return profile_.between_nodes.is_stated() &&
         profile_.between_nodes.value() == GradientLibrary::grpc;
}

void FrameworkDefaults::follow_callers() {
  if (!by_server()) return;
  if (!profile_.callers.is_stated()) {
    note_unknown("callers", profile_.callers, is_typed(value_options::callers));
    return;
  }
  const std::string name(callers_name(profile_.callers.value()));
  if (calls_servers()) {
    set("callers", name, value_options::callers, {profile_.callers.value()});
  } else if (has_sheet_servers()) {
    told_.push_back("callers " + name);
  } else {
    cannot(fmt::format(
        "callers {}: in collectives all ranks take part (--transport grpc has calls)", name));
  }
}

void FrameworkDefaults::follow_libraries() {
  const auto is_nccl = [](const Fact<GradientLibrary>& fact) {
    return fact.is_stated() && fact.value() == GradientLibrary::nccl;
  };
  const bool nccl = is_nccl(profile_.in_node) &&
                    (is_nccl(profile_.between_nodes) || profile_.between_nodes.is_none());
  const std::string carried =
      fmt::format("carried by {} in a node and {} between nodes", to_text(profile_.in_node),
                  to_text(profile_.between_nodes));
  if (is_typed(value_options::all_reduce)) {
    by_hand_.push_back("--all-reduce in place of gradients " + carried);
  } else if (question_.fitted) {
    cannot(fmt::format("gradients {}: messages take what was measured on the machine", carried));
  } else if (has_sheet_servers()) {
    told_.push_back(fmt::format("gradients {}, node_sum {}", carried, to_text(profile_.node_sum)));
  } else if (calls_servers()) {
    cannot(
        fmt::format("gradients carried by {} in a node: ranks of a node reach its host, or one "
                    "another, over the links of data sheets",
                    to_text(profile_.in_node)));
  } else if (!nccl || by_server()) {
    cannot(fmt::format("gradients {}: messages take what data sheets say of the links", carried));
  } else if (!question_.cluster->nccl) {
    cannot(fmt::format("gradients {}, whose costs cluster {} does not say", carried,
                       question_.cluster->name));
  } else {
    set("gradients", carried, value_options::all_reduce, "nccl");
  }
}

void FrameworkDefaults::follow_input_copy() {
  if (!profile_.input_copy.is_stated()) {
    note_unknown("input_copy", profile_.input_copy, is_typed(value_options::input_copy));
    return;
  }
  const std::string shown = to_text(profile_.input_copy);
  if (!on_gpu()) {
    cannot(fmt::format("input_copy {}, for processors have no memory of their own", shown));
    return;
  }
  const InputCopy copy =
      profile_.input_copy.value() == HostMemory::pinned ? InputCopy::ahead : InputCopy::on_path;
  set("input_copy", fmt::format("{} ({})", shown, input_copy_name(copy)), value_options::input_copy,
      copy);
}

void FrameworkDefaults::follow_launch() {
  if (!profile_.launch.is_stated()) {
    note_unknown("launch", profile_.launch, is_typed(value_options::launch));
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
  set("launch", fmt::format("{} ({})", shown, launch_name(launch)), value_options::launch, launch);
}

/// Passes on how it computes; on a measured machine the measurements say that.
void FrameworkDefaults::follow_compute() {
  if (profile_.compute.empty()) {
    unknown_.emplace_back("compute");
    return;
  }
  if (question_.fitted) {
    cannot("compute: kernels take what was measured on the machine");
    return;
  }
  values_.software = profile_.compute;
  told_.push_back("compute as it states");
}

void FrameworkDefaults::follow_negotiation() {
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
void FrameworkDefaults::follow_update() {
  note_unknown("update_on", profile_.update_on);
  if (!profile_.update_on.is_stated()) return;
  const bool server = profile_.update_on.value() == UpdatePlace::server;
  const std::string shown = to_text(profile_.update_on);
  if (server != by_server()) {
    cannot(fmt::format("update_on {}: in the model {}", shown,
                       by_server() ? "servers update what they own" : "every rank updates all"));
  } else if (has_sheet_servers()) {
    cannot("update_on " + shown + ": every rank is taken to update all");
  } else if (server && states(GradientPath::parameter_server)) {
    cannot(
        "update_on server at the speed of a host: the servers of the model are ranks, and update "
        "on their devices");
  } else {
    told_.push_back("update_on " + shown);
  }
}

std::vector<std::string> FrameworkDefaults::notes() const {
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

FrameworkChoice framework_choice(const FrameworkProfile& profile,
                                 const FrameworkQuestion& question) {
  EXPECT(question.cluster != nullptr);
  FrameworkChoice choice = FrameworkDefaults(profile, question).choice();
  if (question.fitted) return choice;
  auto& traits = choice.values.exchange_traits.emplace(model::scaling::traits_of(profile));
  traits.overlap_unknown &= !question.typed.schedules;
  traits.servers &= !question.typed.transports;
  return choice;
}

}  // namespace dlscale::app
