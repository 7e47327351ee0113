#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/network/merge.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"
#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "tests/train/engine/worker.hpp"
#include "train/exchange/priority_exchange.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

// What sets the schedules of gradient exchange apart, and that they come to the same parameters.

/// Its only gradient is that of one fully connected layer, of an odd number of elements.
Network single_layer_network() {
  return {"single",
          {1, 3, 3},
          {{"fc", FullyConnected{.outputs = 3, .bias = false}, {"input"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

/// The parameters of every rank after six iterations.
std::vector<std::vector<float>> train(const Network& network, int ranks,
                                      const TrainOptions& options) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](backend::Communicator& communicator) {
    Worker worker(network, communicator, 2, options);
    for (int i = 0; i < 6; ++i) worker.trainer->iterate();
    worker.trainer->settle();
    const auto all = worker.program.all_parameters();
    parameters[static_cast<std::size_t>(communicator.rank())].assign(all.begin(), all.end());
  });
  return parameters;
}

/// Options that make several messages of the small networks here.
TrainOptions small(Schedule schedule) {
  TrainOptions options = with(schedule);
  options.settings.cycle = 0.1_ms;
  options.settings.fusion_threshold = 600_B;
  options.settings.partition = 20_B;
  options.settings.credit = 3;
  return options;
}

TEST(Schedules, ComeToTheSameParametersBitForBit) {
  for (const Network& network : {chain_network(), branched_network(), single_layer_network()}) {
    for (const int ranks : {1, 2, 3, 4}) {
      const auto expected = train(network, ranks, with(Schedule::sequential));
      for (const Schedule schedule : all_schedules) {
        EXPECT_EQ(train(network, ranks, small(schedule)), expected)
            << network.name() << ", " << ranks << " ranks, " << schedule_name(schedule);
      }
    }
  }
}

TEST(Schedules, ComeToTheSameParametersByWayOfServers) {
  for (const Network& network : {branched_network(), single_layer_network()}) {
    for (const int ranks : {1, 2, 3}) {
      const auto expected = train(network, ranks, with(Schedule::wait_free));
      for (const Schedule schedule : all_schedules) {
        if (!goes_with_server(schedule)) continue;
        for (int servers = 0; servers <= ranks; ++servers) {
          TrainOptions options = with(schedule);
          options.synchronisation = Synchronisation::parameter_server;
          options.settings.servers = servers;
          EXPECT_EQ(train(network, ranks, options), expected)
              << ranks << " ranks, " << servers << " servers, " << schedule_name(schedule);
        }
      }
    }
  }
}

TEST(Schedules, ThatOverlapTheNextForwardCutItIntoPhasesThatAddUp) {
  for (const Schedule schedule : {Schedule::reduce_scatter_overlap, Schedule::priority}) {
    on_ranks(2, [&](backend::Communicator& communicator) {
      Worker worker(branched_network(), communicator, 3, small(schedule));
      for (int i = 0; i < 5; ++i) {
        const IterationRecord r = worker.trainer->iterate();
        const Seconds sum =
            r.io + r.h2d + r.forward + r.backward + r.exposed_comm + r.update + r.other;
        EXPECT_NEAR(sum.si(), r.total.si(), 0.01 * r.total.si());
        for (const Seconds phase : {r.forward, r.backward, r.hidden_comm, r.other}) {
          EXPECT_GE(phase, Seconds(0));
        }
        // The first forward has nothing to wait for; each other waits, and updates, once a message.
        EXPECT_EQ(r.exposed_comm > Seconds(0), i > 0) << schedule_name(schedule);
        EXPECT_EQ(r.update > Seconds(0), i > 0) << schedule_name(schedule);
      }
    });
  }
}

TEST(Schedules, OnOneRankUpdateAfterBackward) {
  for (const Schedule schedule : all_schedules) {
    on_ranks(1, [&](backend::Communicator& communicator) {
      Worker worker(chain_network(), communicator, 2, with(schedule));
      const IterationRecord r = worker.trainer->iterate();
      EXPECT_GT(r.update, Seconds(0)) << schedule_name(schedule);
      EXPECT_EQ(r.hidden_comm, Seconds(0)) << schedule_name(schedule);
      EXPECT_FALSE(worker.trainer->merge_plan().has_value());
      EXPECT_EQ(settling_iterations(schedule, 1), 0);
    });
  }
}

/// Communication spans of the last of so many iterations, and of what settles it.
std::vector<Span> messages_of(Worker& worker, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    std::ignore = worker.trainer->take_spans();
    worker.trainer->iterate();
  }
  std::vector<Span> messages;
  for (const Span& span : worker.trainer->take_spans()) {
    if (span.lane == Span::Lane::comm) messages.push_back(span);
  }
  return messages;
}

TEST(Schedules, ThatMergeSettleOnOnePlanOfAllRanks) {
  const Network network = branched_network();
  const std::size_t layers = gradient_buckets(network, Schedule::merged).size();
  for (const Schedule schedule : {Schedule::merged_greedy, Schedule::merged}) {
    std::mutex mutex;
    std::vector<MergePlan> plans;
    on_ranks(3, [&](backend::Communicator& communicator) {
      TrainOptions options = with(schedule);
      options.record_spans = true;
      Worker worker(network, communicator, 2, options);
      const int settling = settling_iterations(schedule, communicator.size());
      EXPECT_EQ(messages_of(worker, settling - 1).size(), layers);
      EXPECT_FALSE(worker.trainer->merge_plan().has_value());
      const std::vector<Span> merged = messages_of(worker, 1);
      ASSERT_TRUE(worker.trainer->merge_plan().has_value());
      const MergePlan& plan = *worker.trainer->merge_plan();
      EXPECT_EQ(merged.size(), plan.groups.size());
      EXPECT_EQ(worker.trainer->message_sizes().size(), plan.groups.size());
      EXPECT_EQ(std::accumulate(plan.groups.begin(), plan.groups.end(), std::size_t{0}), layers);
      EXPECT_GE(plan.cost.a, Seconds(0));
      EXPECT_GE(plan.cost.b, SecondsPerByte(0));
      const std::lock_guard lock(mutex);
      plans.push_back(plan);
    });
    ASSERT_EQ(plans.size(), 3U);
    for (const MergePlan& plan : plans) {
      EXPECT_EQ(plan.groups, plans.front().groups);
      EXPECT_EQ(plan.cost, plans.front().cost);
    }
  }
}

TEST(Schedules, ThatMergeTakeAPlanThatIsGiven) {
  const Network network = chain_network();
  on_ranks(2, [&](backend::Communicator& communicator) {
    TrainOptions options = with(Schedule::merged);
    options.record_spans = true;
    options.groups = {1, 2};
    Worker worker(network, communicator, 2, options);
    const std::vector<Span> messages = messages_of(worker, 1);
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].name, "fc");
    EXPECT_EQ(messages[1].name, "conv2 … conv1 (2 layers)");
    EXPECT_EQ(messages[1].bytes, worker.trainer->message_sizes()[1].si());
    EXPECT_FALSE(worker.trainer->merge_plan().has_value());
  });
}

TEST(Schedules, SayByWhichCollectiveEachMessageTravelled) {
  const Network network = chain_network();
  const std::size_t layers = gradient_buckets(network, Schedule::wait_free).size();
  const auto count = [&](const TrainOptions& settings, const char* what) {
    std::size_t found = 0;
    on_ranks(2, [&](backend::Communicator& communicator) {
      TrainOptions options = settings;
      options.record_spans = true;
      Worker worker(network, communicator, 2, options);
      worker.trainer->iterate();
      worker.trainer->settle();
      worker.trainer->iterate();  // takes what settled
      std::size_t mine = 0;
      double bytes = 0;
      for (const Span& span : worker.trainer->take_spans()) {
        mine += span.lane == Span::Lane::comm && span.what == what ? 1U : 0U;
        bytes += span.bytes;
      }
      EXPECT_GT(bytes, 0);
      if (communicator.rank() == 0) found = mine;
    });
    return found;
  };
  TrainOptions server = with(Schedule::wait_free);
  server.synchronisation = Synchronisation::parameter_server;
  EXPECT_EQ(count(server, "reduce"), 2 * layers);
  EXPECT_EQ(count(server, "broadcast"), 2 * layers);
  EXPECT_EQ(count(server, "all_reduce"), 0U);
  // Those of the second iteration may still be under way.
  EXPECT_GE(count(with(Schedule::reduce_scatter_overlap), "reduce_scatter"), 1U);
  EXPECT_GE(count(with(Schedule::reduce_scatter_overlap), "all_gather"), 1U);
  EXPECT_GE(count(small(Schedule::priority), "all_reduce"), 3 * layers);
}

TEST(Schedules, CannotTellAGradientBeforeItIsIn) {
  on_ranks(2, [](backend::Communicator& communicator) {
    Worker worker(chain_network(), communicator, 2, with(Schedule::reduce_scatter_overlap));
    worker.trainer->settle();  // nothing yet
    worker.trainer->iterate();
    const LayerId first(1);
    EXPECT_THROW((void)worker.trainer->mean_gradient(first), std::logic_error);
    worker.trainer->settle();
    EXPECT_NO_THROW((void)worker.trainer->mean_gradient(first));
  });
}

// The order in which schedule priority sends parts: of the engine and of its model, in one
// scenario.

/// Messages that become ready one after the other and are cut into parts, each of which a link
/// takes 1 s for, one after the other.
struct Scenario {
  std::vector<double> ready;       ///< by message, s; no two alike
  std::vector<std::size_t> parts;  ///< by message
  std::size_t credit = 1;
};

/// The message of each part, in the order in which parts start.
using Order = std::vector<std::size_t>;

Order order_of_model(const Scenario& scenario) {
  model::TaskGraph graph;
  model::Resource resource{"link", 1, model::Order::urgent};
  resource.window = static_cast<int>(scenario.credit);
  const model::ResourceId link = graph.add(resource);
  std::vector<std::pair<TaskId, std::size_t>> parts;
  for (std::size_t message = 0; message < scenario.ready.size(); ++message) {
    const TaskId ready = graph.add(model::Task{Seconds(scenario.ready[message]), {}, 0, {}});
    for (std::size_t part = 0; part < scenario.parts[message]; ++part) {
      const int rank = -static_cast<int>(message);
      parts.emplace_back(graph.add(model::Task{Seconds(1), link, 0, {ready}, rank}), message);
    }
  }
  const model::Timeline timeline = simulate(graph);
  std::ranges::stable_sort(parts, {},
                           [&](const auto& part) { return timeline.started(part.first); });
  Order order;
  for (const auto& [task, message] : parts) order.push_back(message);
  return order;
}

/// What the exchange has given to the link, and what of that the link has done.
class Link {
 public:
  /// Of the part that begins with element `first`; returns its number.
  std::size_t start(const float* first) {
    const std::lock_guard lock(mutex_);
    started_.push_back(first);
    changed_.notify_all();
    return started_.size() - 1;
  }
  bool look(std::size_t part) {
    const std::lock_guard lock(mutex_);
    if (part >= done_) return false;
    seen_ = std::max(seen_, part + 1);
    changed_.notify_all();
    return true;
  }
  void wait(std::size_t part) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return part < done_; });
    seen_ = std::max(seen_, part + 1);
    changed_.notify_all();
  }
  void finish_oldest() {
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
  /// Waits until the exchange has seen what is done and, with so many parts posted, can start no
  /// more; false if that does not come.
  bool settles(std::size_t posted, std::size_t credit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      const std::size_t most = std::min(posted, done_ + credit);
      return seen_ == done_ && started_.size() == most;
    });
  }
  std::vector<const float*> started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const float*> started_;
  std::size_t done_ = 0;  ///< the first so many
  std::size_t seen_ = 0;
};

class PartOnLink : public backend::PreparedCollective {
 public:
  PartOnLink(Link& link, const float* first) : link_(&link), first_(first) {}
  void start() override { part_ = link_->start(first_); }
  void wait() override { link_->wait(part_); }
  bool test() override {
    std::this_thread::yield();
    return link_->look(part_);
  }

 private:
  Link* link_;
  const float* first_;
  std::size_t part_ = 0;
};

/// A vote of one rank, which takes no time.
class LoneVote : public backend::PreparedCollective {
 public:
  void start() override {}
  void wait() override {}
};

/// The only rank, with such a link.
class OnLink : public FailingCommunicator {
 public:
  explicit OnLink(Link& link) : FailingCommunicator(-1), link_(&link) {}
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode) override {
    if (call.type != backend::ElementType::f32) return std::make_unique<LoneVote>();
    return std::make_unique<PartOnLink>(*link_, reinterpret_cast<const float*>(call.from.data()));
  }

 private:
  Link* link_;
};

/// Carries out a scenario event by event, each once the exchange has done what it can.
class Engine {
 public:
  explicit Engine(const Scenario& scenario)
      : scenario_(&scenario),
        values_(std::accumulate(scenario.parts.begin(), scenario.parts.end(), std::size_t{0})),
        exchange_(std::make_unique<OnLink>(link_), HostMirror(*device_, values_),
                  backend::WaitPolicy::sleep,
                  {.most = 4_B, .credit = scenario.credit, .messages = scenario.parts}) {}

  Order order() {
    while (finished_ < values_.size()) {
      const bool link_is_next =
          finished_ < ends_.size() &&
          (message_ == scenario_->ready.size() || ends_[finished_] < scenario_->ready[message_]);
      if (link_is_next) {
        finish_oldest();
      } else {
        post_next();
      }
      if (!link_.settles(posted_, scenario_->credit)) {
        ADD_FAILURE() << "credit is left after " << now_ << " s, but no part starts";
        give_up();
        break;
      }
      note_started();
    }
    EXPECT_EQ(exchange_.finish().size(), values_.size());
    return messages_of(link_.started());
  }

 private:
  void post_next() {
    now_ = scenario_->ready[message_];
    const std::size_t elements = scenario_->parts[message_];
    exchange_.post(message_++, std::span(values_).subspan(posted_, elements), device_->mark());
    posted_ += elements;
  }

  void finish_oldest() {
    now_ = ends_[finished_++];
    link_.finish_oldest();
  }

  /// The link begins with a part when it is free.
  void note_started() {
    while (ends_.size() < link_.started().size()) {
      ends_.push_back((ends_.empty() ? now_ : std::max(now_, ends_.back())) + 1);
    }
  }

  void give_up() {
    for (std::size_t i = 0; i < values_.size(); ++i) link_.finish_oldest();
    while (message_ < scenario_->ready.size()) post_next();
  }

  [[nodiscard]] Order messages_of(const std::vector<const float*>& started) const {
    Order order;
    for (const float* first : started) {
      std::size_t message = 0;
      for (auto left = static_cast<std::size_t>(first - values_.data());
           left >= scenario_->parts[message]; ++message) {
        left -= scenario_->parts[message];
      }
      order.push_back(message);
    }
    return order;
  }

  const Scenario* scenario_;
  std::unique_ptr<backend::ComputeDevice> device_ = open_backend("reference");
  std::vector<float> values_;  ///< one to a part
  Link link_;
  PriorityExchange exchange_;
  double now_ = 0;
  std::size_t message_ = 0;   ///< the next to be posted
  std::size_t posted_ = 0;    ///< parts
  std::size_t finished_ = 0;  ///< parts
  std::vector<double> ends_;  ///< by part started, s
};

Order order_of_engine(const Scenario& scenario) {
  return Engine(scenario).order();
}

TEST(OrderOfParts, IsTheSameInTheEngineAndInItsModel) {
  // All become ready while the first part travels.
  Scenario scenario{{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, std::vector<std::size_t>(7, 1), 1};
  const Order one_at_a_time{0, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(order_of_model(scenario), one_at_a_time);
  EXPECT_EQ(order_of_engine(scenario), one_at_a_time);
  // What comes while there is credit goes as it comes; then the most urgent first.
  scenario.credit = 4;
  const Order four_at_a_time{0, 1, 2, 3, 6, 5, 4};
  EXPECT_EQ(order_of_model(scenario), four_at_a_time);
  EXPECT_EQ(order_of_engine(scenario), four_at_a_time);
}

TEST(OrderOfParts, IsTheSameWheneverMessagesComeAndHoweverManyPartsTheyHave) {
  std::mt19937 random(52);
  std::uniform_real_distribution<double> pause(0.01, 3);
  std::uniform_int_distribution<std::size_t> number(1, 6);
  for (int trial = 0; trial < 100; ++trial) {
    Scenario scenario;
    scenario.credit = number(random);
    double time = 0;
    for (std::size_t message = 0; message < 6; ++message) {
      scenario.ready.push_back(time += pause(random));
      scenario.parts.push_back(number(random));
    }
    EXPECT_EQ(order_of_engine(scenario), order_of_model(scenario)) << "trial " << trial;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dlscale::train
