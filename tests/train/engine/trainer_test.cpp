#include <gtest/gtest.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/base/error.hpp"
#include "tests/backend/comm/unheard_communicator.hpp"
#include "tests/core/support.hpp"
#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "tests/train/engine/worker.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

/// The mean gradients of iteration `iterations` on `ranks` ranks, as rank 0 has them.
Gradients gradients_of(const Network& network, int ranks, int batch, Schedule schedule,
                       int iterations) {
  Gradients gradients;
  on_ranks(ranks, [&](backend::Communicator& communicator) {
    Worker worker(network, communicator, batch, with(schedule));
    for (int i = 0; i < iterations; ++i) worker.trainer->iterate();
    if (communicator.rank() == 0) gradients = worker.mean_gradients();
  });
  return gradients;
}

TEST(Trainer, OnSeveralRanksComputesTheGradientsOfOneWithTheWholeBatch) {
  const Network network = chain_network();
  const Gradients whole = gradients_of(network, 1, 12, Schedule::wait_free, 2);
  for (const int ranks : {2, 3, 4}) {
    for (const Schedule schedule : all_schedules) {
      const Gradients parts = gradients_of(network, ranks, 12 / ranks, schedule, 2);
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_LT(relative_difference(parts[i], whole[i]), 1e-5)
            << ranks << " ranks, " << schedule_name(schedule) << ", tensor " << i;
      }
    }
  }
}

TEST(Trainer, ComputesTheSameGradientsUnderEverySchedule) {
  const Network network = branched_network();
  for (const int ranks : {1, 2, 3}) {
    const Gradients expected = gradients_of(network, ranks, 2, Schedule::sequential, 3);
    for (const Schedule schedule : all_schedules) {
      EXPECT_EQ(gradients_of(network, ranks, 2, schedule, 3), expected)
          << ranks << " ranks, " << schedule_name(schedule);
    }
  }
}

TEST(Trainer, LearnsASmallSet) {
  const Network network = chain_network();
  for (const auto& [ranks, batch] : {std::pair{1, 8}, std::pair{2, 4}}) {
    on_ranks(ranks, [&](backend::Communicator& communicator) {
      TrainOptions options;
      options.sgd.rate = 0.02F;
      Worker worker(network, communicator, batch, options);
      const double first = worker.trainer->iterate().loss;
      double last = first;
      for (int i = 0; i < 60; ++i) last = worker.trainer->iterate().loss;
      EXPECT_LT(last, 0.3 * first);
    });
  }
}

TEST(Trainer, KeepsTheWeightsOfAllRanksEqual) {
  const Network network = branched_network();
  std::mutex mutex;
  std::vector<std::vector<float>> weights;
  on_ranks(3, [&](backend::Communicator& communicator) {
    // Each starts from other weights: the trainer hands out those of rank 0.
    Worker worker(network, communicator, 2, with(Schedule::wait_free),
                  static_cast<std::uint64_t>(communicator.rank()));
    for (int i = 0; i < 3; ++i) worker.trainer->iterate();
    const auto all = worker.program.all_parameters();
    const std::lock_guard lock(mutex);
    weights.emplace_back(all.begin(), all.end());
  });
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
}

TEST(Trainer, CutsAnIterationIntoPhasesThatAddUp) {
  for (const Schedule schedule : schedules) {
    on_ranks(2, [&](backend::Communicator& communicator) {
      Worker worker(branched_network(), communicator, 3, with(schedule));
      for (int i = 0; i < 5; ++i) {
        const IterationRecord r = worker.trainer->iterate();
        const Seconds sum =
            r.io + r.h2d + r.forward + r.backward + r.exposed_comm + r.update + r.other;
        EXPECT_NEAR(sum.si(), r.total.si(), 0.01 * r.total.si());
        for (const Seconds phase : {r.io, r.h2d, r.forward, r.backward, r.exposed_comm, r.update,
                                    r.other, r.hidden_comm}) {
          EXPECT_GE(phase, Seconds(0));
        }
        EXPECT_LE(r.hidden_comm, r.backward);
        EXPECT_TRUE(schedule != Schedule::sequential || r.hidden_comm == Seconds(0));
        EXPECT_GT(r.exposed_comm, Seconds(0));
      }
    });
  }
}

TEST(Trainer, CountsTheCallersTimeAsOther) {
  on_ranks(1, [&](backend::Communicator& communicator) {
    Worker worker(chain_network(), communicator, 2, with(Schedule::wait_free));
    worker.trainer->iterate();
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::milliseconds busy(3);
    while (std::chrono::steady_clock::now() - start < busy) continue;
    EXPECT_GE(worker.trainer->iterate().other, 3.0_ms);
  });
}

TEST(Trainer, OnOneRankExchangesNothing) {
  on_ranks(1, [&](backend::Communicator& communicator) {
    TrainOptions options;
    options.record_spans = true;
    Worker worker(chain_network(), communicator, 2, options);
    EXPECT_EQ(worker.trainer->iterate().hidden_comm, Seconds(0));
    for (const Span& span : worker.trainer->take_spans()) EXPECT_NE(span.lane, Span::Lane::comm);
  });
}

TEST(Trainer, RecordsEveryStepAndMessageAsASpan) {
  const Network network = branched_network();
  on_ranks(2, [&](backend::Communicator& communicator) {
    TrainOptions options;
    options.record_spans = true;
    Worker worker(network, communicator, 2, options);
    worker.trainer->iterate();
    std::map<Span::Lane, std::size_t> count;
    for (const Span& span : worker.trainer->take_spans()) {
      ++count[span.lane];
      EXPECT_GE(span.start, Seconds(0));
      EXPECT_EQ(span.bytes > 0, span.lane == Span::Lane::comm);
    }
    EXPECT_EQ(count[Span::Lane::compute],
              forward_steps(network).size() + backward_steps(network).size());
    EXPECT_EQ(count[Span::Lane::comm], gradient_buckets(network, Schedule::wait_free).size());
    EXPECT_TRUE(worker.trainer->take_spans().empty());
  });
}

TEST(Trainer, RecordsNoSpansUnlessAskedTo) {
  on_ranks(1, [&](backend::Communicator& communicator) {
    Worker worker(chain_network(), communicator, 2, with(Schedule::wait_free));
    worker.trainer->iterate();
    EXPECT_TRUE(worker.trainer->take_spans().empty());
  });
}

TEST(Trainer, BringsAFailureOfTheExchangeToTheCaller) {
  const Network network = chain_network();
  for (const Schedule schedule : all_schedules) {
    FailingCommunicator communicator(0);
    Worker worker(network, communicator, 2, with(schedule));
    // Where messages overlap the next forward, that waits for them.
    const auto train_on = [&] {
      worker.trainer->iterate();
      if (overlaps_next_forward(schedule)) worker.trainer->iterate();
    };
    EXPECT_THROW(train_on(), LibraryError) << schedule_name(schedule);
  }
}

/// Rank 1 of three cannot read batch `failing`, counted from 1; the others end that iteration.
void fail_at(int failing, const TrainOptions& options) {
  on_ranks(3, [&](backend::Communicator& communicator) {
    const Network network = chain_network();
    const auto device = open_backend("reference");
    Program program(network, *device, 2, DType::f32);
    program.initialise(1);
    MadeData data(network, 2, communicator.rank(), communicator.size());
    int batches = 0;
    const bool fails = communicator.rank() == 1;
    Trainer trainer(
        program, communicator,
        [&]() -> const Batch& {
          if (fails && ++batches == failing) throw ConfigError("picture.jpg is truncated.");
          return data.next();
        },
        options);
    for (int i = 1; i < failing; ++i) trainer.iterate();
    if (fails) {
      EXPECT_THROW(trainer.iterate(), ConfigError);
    } else {
      EXPECT_NO_THROW(trainer.iterate());
    }
    communicator.barrier();
  });
}

TEST(Trainer, LeavesTheOthersInStepWhenTheInputOfOneRankFails) {
  for (const Schedule schedule : all_schedules) {
    // The first; one after messages that overlap its forward; around the one that merges.
    for (const int failing : {1, 2, 4, 5}) {
      SCOPED_TRACE(schedule_name(schedule));
      fail_at(failing, with(schedule));
      if (!goes_with_server(schedule)) continue;
      TrainOptions options = with(schedule);
      options.synchronisation = Synchronisation::parameter_server;
      fail_at(failing, options);
    }
  }
}

/// Rank 0 of two, whose batch `failing`, counted from 1, throws what `fail` does. It ends whatever
/// of its messages is still on its way.
template <class E>
void expect_thrown(int failing, const TrainOptions& options, const std::function<void()>& fail,
                   const std::function<void()>& called) {
  backend::UnheardCommunicator communicator(2, called);
  const Network network = chain_network();
  const auto device = open_backend("reference");
  Program program(network, *device, 2, DType::f32);
  program.initialise(1);
  MadeData data(network, 2);
  int batches = 0;
  const auto next = [&]() -> const Batch& {
    if (++batches == failing) fail();
    return data.next();
  };
  Trainer trainer(program, communicator, next, options);
  for (int i = 1; i < failing; ++i) trainer.iterate();
  EXPECT_THROW(trainer.iterate(), E) << schedule_name(options.schedule);
}

TEST(Trainer, MakesNoCallWithTheOthersAfterAFailureOfALibrary) {
  for (const Schedule schedule : all_schedules) {
    // Messages that overlap the next forward are on their way in the second.
    for (const int failing : overlaps_next_forward(schedule) ? std::vector{1} : std::vector{1, 2}) {
      std::atomic<int> calls = 0;
      int calls_before = 0;
      const auto fail = [&] {
        calls_before = calls;
        throw LibraryError("the driver lost the device.");
      };
      expect_thrown<LibraryError>(failing, with(schedule), fail, [&] { ++calls; });
      EXPECT_EQ(calls, calls_before) << schedule_name(schedule);
    }
  }
}

TEST(Trainer, SaysThatARankIsApartWhateverFailsInAnExchange) {
  for (const Schedule schedule : all_schedules) {
    std::atomic<bool> lost = false;
    const auto fail = [&lost] {
      lost = true;
      throw ConfigError("picture.jpg is truncated.");
    };
    const auto called = [&lost] {
      if (lost) throw ConfigError("The GPU has no memory left for a message.");
    };
    expect_thrown<LibraryError>(1, with(schedule), fail, called);
  }
}

TEST(Trainer, StopsWhenTheLossIsNotFinite) {
  on_ranks(1, [](backend::Communicator& communicator) {
    TrainOptions options;
    options.sgd.rate = 1e30F;
    Worker worker(chain_network(), communicator, 2, options);
    const auto train_on = [&] {
      for (int i = 0; i < 10; ++i) worker.trainer->iterate();
    };
    EXPECT_THROW(train_on(), WrongResult);
  });
}

TEST(Trainer, RefusesRanksThatTrainDifferentNetworks) {
  on_ranks(2, [](backend::Communicator& communicator) {
    const Network network = communicator.rank() == 0 ? chain_network() : branched_network();
    EXPECT_THROW(Worker(network, communicator, 2, with(Schedule::wait_free)), ConfigError);
  });
}

/// They would train on and differ at the end only.
TEST(Trainer, RefusesRanksThatTrainByDifferentOptions) {
  const std::array<void (*)(TrainOptions&), 3> changes{
      [](TrainOptions& options) { options.sgd.rate = 0.02F; },
      [](TrainOptions& options) { options.sgd.momentum = 0.8F; },
      [](TrainOptions& options) { options.sgd.weight_decay = 0; }};
  for (const auto& change : changes) {
    on_ranks(2, [&change](backend::Communicator& communicator) {
      TrainOptions options = with(Schedule::wait_free);
      if (communicator.rank() == 1) change(options);
      EXPECT_THROW(Worker(chain_network(), communicator, 2, options), ConfigError);
    });
  }
}

namespace fs = std::filesystem;

Span span(Span::Lane lane, std::string name, double start_s, double duration_s, double bytes = 0) {
  return {lane, std::move(name), "what", Seconds(start_s), Seconds(duration_s), bytes};
}

class Trace : public testing::Test {
 protected:
  nlohmann::json written(const std::vector<Span>& spans) {
    write_trace(folder_ / "trace.json", 3, spans);
    std::ifstream file(folder_ / "trace.json");
    return nlohmann::json::parse(file);
  }

 private:
  const test::TemporaryFolder folder_;
};

TEST_F(Trace, HoldsEverySpanInMicroseconds) {
  const auto json = written({span(Span::Lane::compute, "conv \"1\"", 0.001, 0.0025),
                             span(Span::Lane::comm, "fc", 0.002, 0.5, 4096)});
  std::map<std::string, nlohmann::json> events;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") events[event.at("name")] = event;
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events["conv \"1\""].at("ts"), 1000.0);
  EXPECT_EQ(events["conv \"1\""].at("dur"), 2500.0);
  EXPECT_EQ(events["conv \"1\""].at("pid"), 3);
  EXPECT_EQ(events["fc"].at("args").at("bytes"), 4096.0);
  EXPECT_NE(events["fc"].at("tid"), events["conv \"1\""].at("tid"));
}

TEST_F(Trace, PutsLoaderThreadsThatWorkAtOnceOnRowsOfTheirOwn) {
  const auto json =
      written({span(Span::Lane::loader, "a", 0, 2), span(Span::Lane::loader, "b", 1, 2),
               span(Span::Lane::loader, "c", 2, 1)});
  std::map<std::string, int> row;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") row[event.at("name")] = event.at("tid");
  }
  EXPECT_NE(row["a"], row["b"]);
  EXPECT_EQ(row["a"], row["c"]);
}

TEST_F(Trace, NamesRankAndRows) {
  const auto json = written({span(Span::Lane::comm, "fc", 0, 1)});
  std::vector<std::string> names;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "M") names.push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"communication", "rank 3"}));
}

TEST_F(Trace, OfNothingIsStillValid) {
  EXPECT_EQ(written({}).at("traceEvents").size(), 1U);
}

TEST(WriteTrace, SaysSoIfTheFileCannotBeWritten) {
  EXPECT_THROW(write_trace("/nowhere/at/all/trace.json", 0, {}), ConfigError);
}

TEST(WriteTrace, WaitsForNoReaderOfAPipe) {
  const test::TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(write_trace(pipe, 0, {}), ConfigError);
}

TEST(WriteTrace, SaysSoIfTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THROW(write_trace("/dev/full", 0, {}), ConfigError);
}

}  // namespace
}  // namespace dlscale::train
