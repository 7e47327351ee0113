#include "model/sgd_iter/messages/exchange_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/remedy.hpp"
#include "core/collective/selection/parameter_servers.hpp"
#include "core/network/merge.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

/// The gradients of `buckets`, with the predicted times at which backward completes them.
std::vector<ReadyGradient> ready_gradients(const Network& network, const KernelTimes& kernels,
                                           std::span<const Bucket> buckets) {
  const auto steps = backward_steps(network);
  std::vector<ReadyGradient> gradients;
  Seconds computed;
  std::size_t done = 0;
  for (const Bucket& bucket : buckets) {
    const std::size_t end = ready_after(network, steps, bucket) + 1;
    for (; done < end; ++done) computed += kernels.time(steps[done]).value;
    gradients.push_back({computed, message_size(bucket)});
  }
  return gradients;
}

/// Fits as the engine does, from measured messages of one gradient each.
LinearCost fitted_cost(std::span<const ReadyGradient> gradients, const MessageTimes& messages) {
  std::vector<Bytes> sizes;
  std::vector<Seconds> times;
  for (const ReadyGradient& gradient : gradients) {
    sizes.push_back(gradient.bytes);
    times.push_back(messages.time(gradient.bytes).value);
  }
  return fit_cost(sizes, times);
}

std::string in_messages(std::size_t gradients, std::span<const Bucket> messages) {
  const auto largest = std::ranges::max_element(messages, {}, &Bucket::elements);
  return fmt::format("{} gradients in {} {}, the largest of {}", gradients, messages.size(),
                     messages.size() == 1 ? "message" : "messages",
                     to_text(message_size(*largest)));
}

/// Fraction of the gradients on server 0, and on each other server.
struct Shares {
  double most;
  double other;
};

Shares shares(int servers, double imbalance) {
  const double most = imbalance / servers;
  return {most, servers > 1 ? (1 - most) / (servers - 1) : 0.0};
}

struct NodeRanks {
  int ranks;
  int servers;
};

NodeRanks on_node(const Placement& placement, int servers, int node) {
  const int before = node * placement.ranks_per_node;
  const int ranks = std::min(placement.ranks_per_node, placement.ranks - before);
  return {ranks, std::clamp(servers - before, 0, ranks)};
}

/// Fraction of all gradients on the servers of a node.
double kept_on(const NodeRanks& node, bool has_first, const Shares& share) {
  if (!has_first) return node.servers * share.other;
  return share.most + (node.servers - 1) * share.other;
}

/// The busier direction of the busiest node's link: pushes of its ranks to other nodes, or of other
/// nodes to its servers.
double busiest_link(const Placement& placement, int servers, const Shares& share) {
  double busiest = 0;
  for (int node = 0; node < placement.nodes(); ++node) {
    const NodeRanks here = on_node(placement, servers, node);
    const double kept = kept_on(here, node == 0, share);
    busiest = std::max({busiest, here.ranks * (1 - kept), (placement.ranks - here.ranks) * kept});
  }
  return busiest;
}

/// Traffic within node 0, which has the busiest server: into that, or out of the rank that keeps
/// least.
double busiest_within(const Placement& placement, int servers, const Shares& share) {
  const NodeRanks first = on_node(placement, servers, 0);
  if (first.ranks == 1) return 0;
  const double kept = kept_on(first, true, share);
  const double own = first.servers < first.ranks ? 0 : share.other;
  return std::max((first.ranks - 1) * share.most, kept - own);
}

ServerTraffic traffic_of_ranks(const Placement& placement, int servers, double imbalance) {
  const Shares share = shares(servers, imbalance);
  ServerTraffic traffic;
  traffic.from_caller = servers < placement.ranks ? 1 : 1 - share.other;
  traffic.to_server = (placement.ranks - 1) * share.most;
  traffic.in_call = share.most;
  if (placement.nodes() > 1) traffic.out_of_node = busiest_link(placement, servers, share);
  traffic.within_node = busiest_within(placement, servers, share);
  return traffic;
}

/// Traffic of one process a node with separate servers.
ServerTraffic traffic_of_nodes(int nodes, int servers, double imbalance) {
  const Placement one_each{nodes, 1};
  const Shares share = shares(servers, imbalance);
  ServerTraffic traffic;
  traffic.from_caller = 1;
  traffic.to_server = nodes * share.most;
  traffic.in_call = share.most;
  if (nodes > 1) traffic.out_of_node = busiest_link(one_each, servers, share);
  return traffic;
}

/// Calls carry tensors by sockets, whatever the links, unless those travel beside them.
Machine by_sockets(Machine machine) {
  scaling::FrameworkTraits traits = machine.exchange_traits.value_or(scaling::FrameworkTraits{});
  traits.over_sockets = true;
  machine.exchange_traits = std::move(traits);
  return machine;
}

LinkEstimate server_link(const Machine& on, const Run& run, LinkKind kind) {
  const bool sockets = run.settings.transport == Transport::grpc && !on.fitted;
  const Machine machine = sockets ? by_sockets(on) : on;
  const Placement placement{run.ranks, run.ranks_per_node};
  constexpr Bytes usual(1e6);  // size of a typical tensor, at which the line of a fit is read
  if (auto link = estimate_link(machine, kind, placement, run.schedule, usual, usual)) return *link;
  const bool inter = kind == LinkKind::inter;
  throw RemediableError(
      fmt::format(
          "transport {} cannot be predicted here: machine {} knows no latency and bandwidth "
          "{}. Measure messages between two ranks and calibrate{}.",
          transport_name(run.settings.transport), machine.cluster.name,
          inter ? "between nodes" : "within a node",
          inter ? ", or state the bandwidth between nodes" : ""),
      {.subject = "comm", .axes = {{"collectives", "sendrecv"}}, .ranks = 2});
}

TimeSource source_of(const LinkEstimate& link) {
  return link.nominal ? TimeSource::data_sheet : TimeSource::extrapolated;
}

Estimate<SecondsPerByte> slower_per_byte(const Estimate<SecondsPerByte>& a,
                                         const Estimate<SecondsPerByte>& b) {
  return {std::max(a.value, b.value), std::max(a.low, b.low), std::max(a.high, b.high)};
}

constexpr Bytes parameter_element = 4_B;

void add_tensors(const Layer& layer, std::vector<Bytes>& tensors) {
  for (const std::int64_t count : {layer.weight_count(), layer.bias_count()}) {
    if (count > 0) tensors.push_back(static_cast<double>(count) * parameter_element);
  }
}

/// The callers of servers that published trainings had.
std::string_view who_calls(const Run& run) {
  const Callers callers = run.settings.callers;
  if (calls_servers(run) && callers == Callers::ranks) {
    return "each rank pushes to servers and pulls from them by itself";
  }
  if (node_count(run) == 1 && callers == Callers::several_nodes) {
    return "one process keeps all parameters on one node, and calls no server";
  }
  return "one process of each node pushes to servers and pulls from them";
}

using collective::Collective;

}  // namespace

Bytes message_size(const Bucket& bucket) {
  return Bytes(f32_bytes * static_cast<double>(bucket.elements));
}

std::vector<Bucket> planned_messages(const Network& network, const Run& run,
                                     const KernelTimes& kernels, const MessageTimes& messages,
                                     Notes& notes) {
  std::vector<Bucket> buckets = gradient_buckets(network, run.schedule, run.settings);
  if (!is_merged(run.schedule) || buckets.empty()) return buckets;
  const auto gradients = ready_gradients(network, kernels, buckets);
  const LinearCost cost = fitted_cost(gradients, messages);
  std::vector<Bucket> merged = merged_buckets(buckets, merge_for(run.schedule, gradients, cost));
  const NoteKind kind =
      run.schedule == Schedule::merged ? NoteKind::merged_optimally : NoteKind::merged_greedily;
  notes.add(kind, {schedule_name(run.schedule)},
            {in_messages(buckets.size(), merged), cost.a, cost.b.si() * 1e9});
  return merged;
}

bool calls_servers(const Run& run) {
  return run.synchronisation == Synchronisation::parameter_server &&
         run.settings.transport != Transport::collectives;
}

ServerTraffic server_traffic(const Placement& placement, Callers callers, int servers,
                             double imbalance) {
  const bool by_ranks = callers == Callers::ranks;
  EXPECT(servers >= 1 && servers <= (by_ranks ? placement.ranks : placement.nodes()));
  EXPECT(imbalance >= 1 && imbalance <= servers * (1 + 1e-9));
  const double most = std::min<double>(imbalance, servers);
  if (by_ranks) return traffic_of_ranks(placement, servers, most);
  if (callers == Callers::several_nodes && placement.nodes() == 1) return {};
  return traffic_of_nodes(placement.nodes(), servers, most);
}

/// Value: between two processes, 569 MB/s of 128 MB on one machine, in December 2016 [TensorFlow
/// issue 6256]. Slow end: 162 MB/s of 10 MB in September 2016 [issue 4498], which includes fetching
/// the sum into Python [issue 6116]; yet messages above 128 MB fell below 100 MB/s [issue 6256].
/// Fast end: 800 MB/s over 10 Gb/s, since gRPC was renewed in August 2017 [issue 6116], less the
/// time of the line. No cost where tensors go outside of the calls.
Estimate<SecondsPerByte> serialisation(Transport transport) {
  EXPECT(transport != Transport::collectives);
  if (transport == Transport::grpc_rdma) return Estimate<SecondsPerByte>::exact({});
  return {SecondsPerByte(1 / 569.27e6), SecondsPerByte(1 / 800e6 - 1 / 1.25e9),
          SecondsPerByte(1 / 161.63e6)};
}

ServerCalls::ServerCalls(const Machine& machine, const Run& run, double imbalance, Notes& notes)
    : transport_(run.settings.transport), fitted_(machine.fitted) {
  const Placement placement{run.ranks, run.ranks_per_node};
  EXPECT(placement.ranks >= 2 && transport_ != Transport::collectives);
  const Callers callers = run.settings.callers;
  traffic_ = server_traffic(placement, callers, server_count(run), imbalance);
  if (traffic_.within_node > 0) within_ = server_link(machine, run, LinkKind::intra);
  if (placement.nodes() > 1) between_ = server_link(machine, run, LinkKind::inter);
  const bool by_host = transport_ == Transport::grpc || callers != Callers::ranks;
  if (by_host && machine.cluster.device.kind == DeviceKind::gpu) {
    if (machine.h2d.empty()) {
      throw RemediableError(
          "the machine holds no host-to-device copy, which gradients for servers take, too. "
          "Measure it and calibrate again.",
          {.subject = "memory"});
    }
    copy_ = &noted_nearest(machine, machine.h2d, Conditions(run), "the host-to-device copy", notes)
                 .cost;
  }
  note_calls(run, notes);
}

Estimate<Seconds> ServerCalls::time(Bytes size) const {
  Estimate<Seconds> start{};
  Estimate<SecondsPerByte> link{};
  if (within_) {
    start = within_->fit.alpha;
    link = traffic_.within_node * within_->fit.beta;
  }
  if (between_) {
    start = between_->fit.alpha;
    link = slower_per_byte(link, traffic_.out_of_node * between_->fit.beta);
  }
  const Estimate<SecondsPerByte> packing = serialisation(transport_);
  const double in_turn = std::max(traffic_.from_caller, traffic_.to_server);
  Estimate<SecondsPerByte> each{in_turn * packing.value, traffic_.in_call * packing.low,
                                in_turn * packing.high};
  each += link;
  Estimate<Seconds> time{2.0 * start.value + size * each.value, 2.0 * start.low + size * each.low,
                         2.0 * start.high + size * each.high};
  if (copy_ != nullptr) time += copy_->time(size);
  return time;
}

TimeSource ServerCalls::source() const {
  TimeSource source = TimeSource::extrapolated;
  if (within_) source = std::max(source, source_of(*within_));
  if (between_) source = std::max(source, source_of(*between_));
  if (copy_ != nullptr && !fitted_) source = std::max(source, TimeSource::data_sheet);
  return source;
}

void ServerCalls::note_calls(const Run& run, Notes& notes) const {
  const std::string_view transport = transport_name(transport_);
  const Callers callers = run.settings.callers;
  const bool none = callers == Callers::several_nodes && node_count(run) == 1;
  if (copy_ != nullptr) {
    notes.add(NoteKind::servers_host_copies, {transport});
  }
  if (none) {
    notes.add(NoteKind::servers_none, {callers_name(callers)});
    return;
  }
  notes.add(callers == Callers::ranks ? NoteKind::servers_by_ranks : NoteKind::servers_by_nodes,
            {transport});
  if (transport_ != Transport::grpc) return;
  const Estimate<SecondsPerByte> each = serialisation(transport_);
  notes.add(NoteKind::servers_packing, {1.0 / each.value, 1.0 / each.low, 1.0 / each.high});
}

std::vector<Bytes> parameter_tensors(const Network& network) {
  std::vector<Bytes> tensors;
  for (const Layer& layer : network.layers()) add_tensors(layer, tensors);
  return tensors;
}

std::vector<Bytes> sent_apart(const Network& network, const Bucket& message, Sharding sharding) {
  if (sharding == Sharding::largest_first) return {message_size(message)};
  std::vector<Bytes> tensors;
  for (const LayerId layer : message.layers) add_tensors(network.layer(layer), tensors);
  return tensors;
}

std::vector<Bytes> owned_by_servers(const Network& network, std::span<const Bucket> messages,
                                    const Run& run) {
  std::vector<Bytes> owned;
  if (run.settings.sharding == Sharding::largest_first) {
    for (const Bucket& message : messages) owned.push_back(message_size(message));
  } else {
    owned = parameter_tensors(network);
  }
  return collective::servers_by(run.settings.sharding, owned, parameter_element, server_count(run));
}

Bytes most_owned(const Network& network, std::span<const Bucket> messages, const Run& run) {
  return std::ranges::max(owned_by_servers(network, messages, run));
}

Estimate<Seconds> MessageCost::total() const {
  Estimate<Seconds> sum = time;
  for (const Estimate<Seconds>& piece : pieces) sum += piece;
  if (gather) sum += *gather;
  return sum;
}

ExchangeCosts::ExchangeCosts(const Network& network, const Machine& machine, const Run& run,
                             const KernelTimes& kernels, Notes& notes)
    : network_(&network), run_(&run) {
  const Placement place{run.ranks, run.ranks_per_node};
  all_reduce_ = std::make_shared<const MessageTimes>(machine, place, run.schedule, notes);
  const auto times = [&](Collective collective) {
    return CollectiveTimes(machine, place, collective, run.schedule, *all_reduce_, notes);
  };
  if (exchanges_by_servers(machine, run) && network.parameter_count() > 0) {
    by_sheets_ = sheet_servers(machine, run, network);
  } else if (run.synchronisation == Synchronisation::parameter_server && !calls_servers(run)) {
    first_ = times(Collective::reduce);
    second_ = times(Collective::broadcast);
  } else if (run.schedule == Schedule::reduce_scatter_overlap) {
    first_ = times(Collective::reduce_scatter);
    second_ = times(Collective::all_gather);
  }
  messages_ = planned_messages(network, run, kernels, *all_reduce_, notes);
  if (by_sheets_) {
    note_sheets(notes);
  } else if (calls_servers(run) && !messages_.empty()) {
    calls_.emplace(machine, run, collective::imbalance(owned_by_servers(network, messages_, run)),
                   notes);
  }
  if (run.schedule == Schedule::priority) note_parts(notes);
  if (run.synchronisation == Synchronisation::parameter_server) note_servers(notes);
}

void ExchangeCosts::note_parts(Notes& notes) const {
  std::size_t parts = 0;
  for (const Bucket& message : messages_) {
    parts +=
        part_sizes(static_cast<std::size_t>(message.elements), run_->settings.partition).size();
  }
  notes.add(NoteKind::priority_parts, {messages_.size(), parts, run_->settings.partition});
}

void ExchangeCosts::note_servers(Notes& notes) const {
  if (run_->settings.sharding == Sharding::largest_first || messages_.empty()) return;
  const std::vector<Bytes> owned = owned_by_servers(*network_, messages_, *run_);
  notes.add(NoteKind::sharding, {sharding_name(run_->settings.sharding)},
            {collective::imbalance(owned), owned.size()});
}

void ExchangeCosts::note_sheets(Notes& notes) const {
  const Bytes gradients(f32_bytes * static_cast<double>(network_->parameter_count()));
  notes.add(by_sheets_->running ? NoteKind::servers_running : NoteKind::servers_by_sheets,
            {who_calls(*run_)},
            {run_->ranks, by_sheets_->transfer, gradients / by_sheets_->transfer});
}

MessageCost ExchangeCosts::in_parts(const Bucket& message) const {
  MessageCost cost;
  cost.size = message_size(message);
  const auto elements = static_cast<std::size_t>(message.elements);
  for (const std::size_t part : part_sizes(elements, run_->settings.partition)) {
    cost.pieces.push_back(all_reduce_->time(message_size({{}, static_cast<std::int64_t>(part)})));
  }
  cost.time = cost.pieces.front();
  cost.pieces.erase(cost.pieces.begin());
  return cost;
}

/// Elements at the end of a message, outside of equal blocks.
std::int64_t ExchangeCosts::no_equal_blocks(const Bucket& message) const {
  if (run_->schedule != Schedule::reduce_scatter_overlap) return 0;
  return message.elements % run_->ranks;
}

MessageCost ExchangeCosts::in_blocks(const Bucket& message) const {
  const std::int64_t rest = no_equal_blocks(message);
  const Bytes whole = message_size({{}, message.elements - rest});
  MessageCost cost;
  cost.size = message_size(message);
  cost.gather.emplace();
  if (whole > Bytes()) {
    cost.time = first_->time(whole);
    cost.gather = second_->time(whole);
  }
  if (rest > 0) cost.time += all_reduce_->time(message_size({{}, rest}));
  return cost;
}

MessageCost ExchangeCosts::by_servers(const Bucket& message) const {
  MessageCost cost;
  cost.size = message_size(message);
  if (by_sheets_) {
    const auto all = static_cast<double>(network_->parameter_count());
    const double share = static_cast<double>(message.elements) / all;
    cost.time = Estimate<Seconds>::exact(share * by_sheets_->transfer);
    return cost;
  }
  cost.gather.emplace();
  for (const Bytes part : sent_apart(*network_, message, run_->settings.sharding)) {
    cost.time += calls_ ? calls_->time(part) : first_->time(part);
    *cost.gather += calls_ ? calls_->time(part) : second_->time(part);
  }
  return cost;
}

MessageCost ExchangeCosts::cost(const Bucket& message) const {
  if (run_->schedule == Schedule::priority) return in_parts(message);
  if (run_->schedule == Schedule::reduce_scatter_overlap) return in_blocks(message);
  if (first_ || calls_ || by_sheets_) return by_servers(message);
  MessageCost cost;
  cost.size = message_size(message);
  cost.time = all_reduce_->time(cost.size);
  return cost;
}

TimeSource ExchangeCosts::source(const Bucket& message) const {
  if (by_sheets_) return TimeSource::data_sheet;
  if (calls_) return calls_->source();
  std::vector<Bytes> parts{message_size(message)};
  if (run_->synchronisation == Synchronisation::parameter_server) {
    parts = sent_apart(*network_, message, run_->settings.sharding);
  }
  TimeSource source = first_ ? first_->source(parts.front()) : all_reduce_->source(parts.front());
  for (const Bytes part : parts) {
    if (first_) source = std::max(source, first_->source(part));
    if (second_) source = std::max(source, second_->source(part));
  }
  const std::int64_t rest = no_equal_blocks(message);
  if (rest > 0) source = std::max(source, all_reduce_->source(message_size({{}, rest})));
  return source;
}

std::optional<SheetServers> ExchangeCosts::running() const {
  return by_sheets_ && by_sheets_->running ? by_sheets_ : std::nullopt;
}

Bytes ExchangeCosts::most_owned() const {
  return model::most_owned(*network_, messages_, *run_);
}

}  // namespace dlscale::model
