#include "model/published/scaling/time/exchange_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "model/sgd_iter/graph/task_graph.hpp"

namespace dlscale::model::scaling {
namespace {

using Messages = std::vector<ScalingMessage>;

/// One compute stream, hosts that agree on one message at a time, and one link.
Seconds simulated_finish(const Messages& messages, Seconds backward, const MessageCost& cost) {
  TaskGraph graph;
  const ResourceId stream = graph.add(Resource{"stream", 1});
  const ResourceId hosts = graph.add(Resource{"hosts", 1});
  const ResourceId link = graph.add(Resource{"link", 1});
  Bytes total;
  for (const ScalingMessage& message : messages) total += message.size;
  double before = 0;
  std::vector<TaskId> last_part;
  std::vector<TaskId> sent;
  for (const ScalingMessage& message : messages) {
    const Seconds part = (message.ready - before) * backward;
    before = message.ready;
    last_part = {graph.add(Task{part, stream, 0, last_part})};
    const TaskId agreed = graph.add(Task{cost.agreement, hosts, 0, last_part});
    const Seconds on_link = cost.startup + message.size / total * cost.transfer;
    sent.push_back(graph.add(Task{on_link, link, 0, {agreed}}));
  }
  const Timeline timeline = simulate(graph);
  return timeline.finished(sent.back());
}

Messages random_messages(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const int count = std::uniform_int_distribution<int>(1, 60)(random);
  Messages messages;
  double ready = 0;
  for (int i = 0; i < count; ++i) {
    // Some sizes are much larger than others; some become ready together.
    const double size = std::exp(12 * uniform(random));
    if (uniform(random) < 0.7) ready += (1 - ready) * uniform(random) * 3 / count;
    messages.push_back({Bytes(size), std::max(std::min(ready, 1.0), 1e-9)});
  }
  messages.back().ready = 1;
  return messages;
}

TEST(Exposed, IsThatOfTheTaskGraph) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  int hidden_wholly = 0;
  int exposed_wholly = 0;
  for (int round = 0; round < 300; ++round) {
    const Messages messages = random_messages(random);
    const Seconds backward = Seconds(0.02 + 0.2 * uniform(random));
    MessageCost cost;
    cost.transfer = Seconds(0.3 * uniform(random));
    cost.startup = Seconds(2e-3 * uniform(random));
    if (round % 2 == 1) cost.agreement = Seconds(4e-3 * uniform(random));
    const ExposedMessages closed = MessageSchedule(messages).beside(backward, cost);
    const Seconds finish = simulated_finish(messages, backward, cost);
    EXPECT_NEAR(closed.exposed.si(), (finish - backward).si(), 1e-12) << round;
    if (closed.exposed < 0.1 * closed.all) ++hidden_wholly;
    if (closed.exposed > 0.7 * closed.all) ++exposed_wholly;
  }
  EXPECT_GT(hidden_wholly, 10);
  EXPECT_GT(exposed_wholly, 10);
}

TEST(Exposed, AllIsWhatIsExposedWithoutBackward) {
  std::mt19937 random(8);
  for (int round = 0; round < 50; ++round) {
    const MessageSchedule schedule(random_messages(random));
    const MessageCost cost{Seconds(0.1), Seconds(1e-4), Seconds(round % 2 == 0 ? 0 : 3e-4)};
    const ExposedMessages messages = schedule.beside(Seconds(), cost);
    EXPECT_NEAR(messages.exposed.si(), messages.all.si(), 1e-12);
  }
}

TEST(Exposed, AnAgreementThatTakesNoTimeChangesNothing) {
  std::mt19937 random(9);
  for (int round = 0; round < 50; ++round) {
    const MessageSchedule schedule(random_messages(random));
    const MessageCost without{Seconds(0.1), Seconds(1e-4), Seconds()};
    const MessageCost with{Seconds(0.1), Seconds(1e-4), Seconds(1e-15)};
    EXPECT_NEAR(schedule.beside(0.1_s, with).exposed.si(),
                schedule.beside(0.1_s, without).exposed.si(), 1e-12);
  }
}

TEST(Exposed, HostsAgreeOnTheNextMessageWhileOneTravels) {
  const MessageSchedule schedule(Messages{{Bytes(1), 0.5}, {Bytes(1), 1}});
  const MessageCost cost{2.0_s, Seconds(), 0.25_s};
  // Ready at 0.5 and 1 s; agreed on at 0.75 and 1.25 s; the link is busy from 0.75 to 2.75 s.
  const ExposedMessages messages = schedule.beside(1.0_s, cost);
  EXPECT_DOUBLE_EQ(messages.exposed.si(), 1.75);
  EXPECT_DOUBLE_EQ(messages.all.si(), 2.25);
}

TEST(Exposed, OneMessageAfterBackwardShowsWholly) {
  const MessageSchedule schedule(Messages{{Bytes(5), 1}});
  const ExposedMessages messages = schedule.beside(3.0_s, {2.0_s, 0.5_s, Seconds()});
  EXPECT_DOUBLE_EQ(messages.exposed.si(), 2.5);
  EXPECT_EQ(schedule.size(), 1U);
}

TEST(Exposed, RefusesListsThatAreNone) {
  EXPECT_THROW(MessageSchedule(Messages{}), std::logic_error);
  EXPECT_THROW(MessageSchedule(Messages{{Bytes(0), 1}}), std::logic_error);
  EXPECT_THROW(MessageSchedule(Messages{{Bytes(1), 1.5}}), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model::scaling
