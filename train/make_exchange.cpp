#include "train/make_exchange.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"
#include "train/exchange/cycle_exchange.hpp"
#include "train/exchange/gradient_reducer.hpp"
#include "train/exchange/host_copies.hpp"
#include "train/exchange/priority_exchange.hpp"

namespace dlscale::train {
namespace {

using backend::Communicator;

ReadyList::Device device_kind(const Program& program) {
  return program.device().own_memory() ? ReadyList::Device::runs_beside
                                       : ReadyList::Device::is_host;
}

std::unique_ptr<Exchange> make_cycle(Program& program, std::unique_ptr<Communicator> own,
                                     std::size_t messages, const TrainOptions& options) {
  Staging staging(program.device(), *own, program.all_gradients().size());
  const Cycle cycle{.period = options.settings.cycle,
                    .threshold = options.settings.fusion_threshold,
                    .messages = messages,
                    .device = device_kind(program)};
  return std::make_unique<CycleExchange>(std::move(own), std::move(staging), options.waiting,
                                         cycle);
}

std::unique_ptr<Exchange> make_priority(Program& program, std::unique_ptr<Communicator> own,
                                        std::span<const Message> messages,
                                        const TrainOptions& options) {
  Partition partition{.most = options.settings.partition,
                      .credit = static_cast<std::size_t>(options.settings.credit),
                      .messages = {},
                      .device = device_kind(program)};
  for (const Message& message : messages) {
    partition.messages.push_back(program.gradients(message.bucket).size());
  }
  return std::make_unique<PriorityExchange>(std::move(own),
                                            HostMirror(program.device(), program.all_gradients()),
                                            options.waiting, std::move(partition));
}

std::unique_ptr<GradientReducer> make_reducer(Program& program, const Communicator& own,
                                              std::span<const Message> messages,
                                              const TrainOptions& options) {
  const auto memory = [&] {
    return CollectiveMemory(program.device(), own, program.all_gradients());
  };
  if (options.synchronisation == Synchronisation::parameter_server) {
    return std::make_unique<ParameterServerReducer>(
        memory(), owners_of(program, messages, options, own.size()));
  }
  if (options.schedule == Schedule::reduce_scatter_overlap) {
    return std::make_unique<ShardedReducer>(memory(), messages.size(), own.size());
  }
  return std::make_unique<AllReduceReducer>(
      Staging(program.device(), own, program.all_gradients().size()));
}

}  // namespace

std::vector<Rank> owners_of(Program& program, std::span<const Message> messages,
                            const TrainOptions& options, int ranks) {
  if (options.synchronisation == Synchronisation::all_reduce) return {};
  const int servers = options.settings.servers == 0 ? ranks : options.settings.servers;
  EXPECT(servers >= 1 && servers <= ranks);
  EXPECT(options.settings.sharding == Sharding::largest_first);
  return shard_owners(sizes_of(program, messages), servers);
}

std::unique_ptr<Exchange> make_exchange(Program& program, std::unique_ptr<Communicator> own,
                                        std::span<const Message> messages,
                                        const TrainOptions& options) {
  switch (options.schedule) {
    case Schedule::sequential:
      break;
    case Schedule::horovod:
      return make_cycle(program, std::move(own), messages.size(), options);
    case Schedule::priority:
      return make_priority(program, std::move(own), messages, options);
    case Schedule::wait_free:
    case Schedule::bucketed:
    case Schedule::merged_greedy:
    case Schedule::merged:
    case Schedule::reduce_scatter_overlap: {
      auto reducer = make_reducer(program, *own, messages, options);
      return std::make_unique<GradientExchange>(std::move(own), std::move(reducer),
                                                options.waiting);
    }
  }
  fail_expectation("a schedule that exchanges beside backward");
}

}  // namespace dlscale::train
