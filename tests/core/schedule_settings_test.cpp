#include "core/run/schedule_settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;

dlscale::Run run_by(Schedule schedule,
                    Synchronisation synchronisation = Synchronisation::all_reduce) {
  dlscale::Run run;
  run.network = "resnet50";
  run.ranks = 4;
  run.schedule = schedule;
  run.synchronisation = synchronisation;
  return run;
}

using Texts = std::map<std::string, std::string>;

dlscale::Run applied(const Texts& texts, const std::vector<Schedule>& schedules) {
  dlscale::Run run = run_by(schedules.front());
  apply(read_exchange(texts), schedules, run);
  check(run);
  return run;
}

TEST(ScheduleSettings, AreReadWithTheirUnits) {
  Texts options;
  options["cycle"] = "5 ms";
  options["fusion_threshold"] = "64 MiB";
  const ScheduleSettings settings = applied(options, {Schedule::horovod}).settings;
  EXPECT_EQ(settings.cycle, 5.0_ms);
  EXPECT_EQ(settings.fusion_threshold, 64_MiB);
  Texts parts;
  parts["partition"] = "1 MB";
  parts["credit"] = "2";
  const ScheduleSettings cut = applied(parts, {Schedule::wait_free, Schedule::priority}).settings;
  EXPECT_EQ(cut.partition, Bytes(1e6));
  EXPECT_EQ(cut.credit, 2);
  Texts server;
  server["synchronisation"] = "parameter_server";
  server["servers"] = "3";
  EXPECT_EQ(server_count(applied(server, {Schedule::bucketed})), 3);
  server["servers"] = "all";
  EXPECT_EQ(server_count(applied(server, {Schedule::bucketed})), 4);
  EXPECT_EQ(applied(server, {Schedule::bucketed}).settings.sharding, Sharding::largest_first);
  for (const Sharding sharding : all_shardings) {
    server["sharding"] = std::string(sharding_name(sharding));
    EXPECT_EQ(applied(server, {Schedule::wait_free}).settings.sharding, sharding);
  }
}

TEST(ScheduleSettings, SayWhoCallsServersWhereTheyAreCalled) {
  Texts options;
  options["callers"] = "nodes";
  const auto why = [&] {
    return config_error([&] { (void)applied(options, {Schedule::wait_free}); });
  };
  expect_contains(why(), "callers changes nothing here");
  options["transport"] = "grpc";
  expect_contains(why(), "transport changes nothing here");
  options["synchronisation"] = "parameter_server";
  EXPECT_EQ(applied(options, {Schedule::wait_free}).settings.callers, Callers::nodes);
  options["transport"] = "collectives";
  expect_contains(why(), "it is a setting of the transports grpc and grpc_rdma");
}

TEST(ScheduleSettings, HaveAServerOnANodeAtMostWhereNodesCall) {
  dlscale::Run run = run_by(Schedule::wait_free, Synchronisation::parameter_server);
  run.ranks = 9;
  run.ranks_per_node = 4;
  run.settings.transport = Transport::grpc;
  EXPECT_EQ(server_count(run), 9);
  run.settings.callers = Callers::nodes;
  EXPECT_EQ(server_count(run), 3);
  EXPECT_NO_THROW(check(run));
  run.settings.servers = 4;
  expect_contains(config_error([&] { check(run); }), "servers is 4, and 9 ranks are on 3 nodes");
  run.ranks = 1;  // which exchanges nothing
  EXPECT_NO_THROW(check(run));
  run.ranks = 9;
  run.settings.servers = 3;
  run.settings.transport = Transport::collectives;
  expect_contains(config_error([&] { check(run); }), "callers nodes and transport collectives");
}

TEST(ScheduleSettings, GiveOutTensorsOnlyWhereTheyTravelOneByOne) {
  for (const Sharding sharding : all_shardings) {
    for (const Schedule schedule : all_schedules) {
      dlscale::Run run = run_by(schedule, Synchronisation::parameter_server);
      run.settings.sharding = sharding;
      if (!goes_with_server(schedule)) continue;
      if (goes_with_sharding(schedule, sharding)) {
        EXPECT_NO_THROW(check(run)) << sharding_name(sharding);
      } else {
        expect_contains(config_error([&] { check(run); }), "one server each. Take sequential");
        run.synchronisation = Synchronisation::all_reduce;  // which has no servers
        EXPECT_NO_THROW(check(run)) << sharding_name(sharding);
      }
    }
  }
}

TEST(ScheduleSettings, AreRefusedWhereTheyChangeNothing) {
  const auto refusal = [](const std::string& option, const char* value, Schedule schedule) {
    Texts options;
    options[option] = value;
    return config_error([&] { (void)applied(options, {schedule}); });
  };
  expect_contains(refusal("cycle", "1 ms", Schedule::wait_free),
                  "cycle changes nothing here: it is a setting of the schedule horovod");
  expect_contains(refusal("fusion_threshold", "1 B", Schedule::bucketed),
                  "fusion_threshold changes nothing");
  expect_contains(refusal("bucket", "1 MB", Schedule::priority),
                  "bucket changes nothing here: it is a setting of the schedules bucketed");
  expect_contains(refusal("partition", "1 MB", Schedule::horovod), "the schedule priority");
  expect_contains(refusal("credit", "1", Schedule::merged), "the schedule priority");
  expect_contains(refusal("servers", "1", Schedule::wait_free),
                  "the synchronisation parameter_server");
  expect_contains(refusal("sharding", "mxnet", Schedule::wait_free),
                  "sharding changes nothing here");
}

TEST(ScheduleSettings, OfABucketAreThoseOfTheFirstUnlessThatIsNamed) {
  Texts options;
  options["bucket"] = "4 MiB";
  const auto one_size = applied(options, {Schedule::bucketed}).settings;
  EXPECT_EQ(one_size.bucket, 4_MiB);
  EXPECT_EQ(one_size.first_bucket, 4_MiB);
  options["first_bucket"] = "64 KiB";
  const auto two_sizes = applied(options, {Schedule::reduce_scatter_overlap}).settings;
  EXPECT_EQ(two_sizes.bucket, 4_MiB);
  EXPECT_EQ(two_sizes.first_bucket, 64_KiB);
  options["bucket"] = "3 B";
  options.erase("first_bucket");
  EXPECT_EQ(config_error([&] { (void)applied(options, {Schedule::bucketed}); }),
            "bucket is 3 B (less than one gradient element). Write 4 B or more.");
  options["bucket"] = "1 MB";
  options["first_bucket"] = "3 B";
  EXPECT_EQ(config_error([&] { (void)applied(options, {Schedule::bucketed}); }),
            "first_bucket is 3 B (less than one gradient element). Write 4 B or more.");
}

TEST(ScheduleSettings, OutOfRangeOrWithoutUnitAreRefused) {
  const auto refusal = [](const std::string& option, const char* value) {
    Texts options;
    const bool server = option == "servers" || option == "sharding";
    if (server) options["synchronisation"] = "parameter_server";
    options[option] = value;
    const std::vector<Schedule> schedules =
        server ? std::vector{Schedule::wait_free}
               : std::vector{Schedule::horovod, Schedule::priority};
    return config_error([&] { (void)applied(options, schedules); });
  };
  expect_contains(refusal("cycle", "1"), "cycle");
  expect_contains(refusal("cycle", "11 s"), "cycle is 11");
  expect_contains(refusal("partition", "3 B"), "Write 4 B or more");
  expect_contains(refusal("credit", "0"), "credit is \"0\"");
  expect_contains(refusal("credit", "2000"), "credit is 2000");
  expect_contains(refusal("servers", "5"), "servers is 5, of 4 ranks");
  expect_contains(refusal("servers", "two"), "servers is \"two\"");
  expect_contains(refusal("sharding", "tensorflow_gredy"), "tensorflow_greedy");
  expect_contains(refusal("synchronisation", "server"), "parameter_server");
}

TEST(ScheduleSettings, RefuseAParameterServerForSchedulesOfAllReduces) {
  for (const Schedule schedule : all_schedules) {
    const auto check_it = [&] { check(run_by(schedule, Synchronisation::parameter_server)); };
    if (goes_with_server(schedule)) {
      EXPECT_NO_THROW(check_it());
    } else {
      expect_contains(config_error(check_it), "sequential, wait_free or bucketed");
    }
  }
}

TEST(ScheduleSettings, RefuseGraphsWhereForwardWaitsLayerByLayer) {
  for (const Schedule schedule : all_schedules) {
    dlscale::Run run = run_by(schedule);
    run.launch = Launch::graph;
    if (overlaps_next_forward(schedule)) {
      expect_contains(config_error([&] { check(run); }), "eagerly");
    } else {
      EXPECT_NO_THROW(check(run));
    }
  }
}

TEST(ScheduleAxes, LeaveTheKeysOfOtherSchedulesAsTheyWere) {
  for (const Schedule schedule : all_schedules) {
    const auto axes = schedule_axes(run_by(schedule));
    EXPECT_EQ(axes.at("schedule"), schedule_name(schedule));
    const bool tuned = schedule == Schedule::horovod || schedule == Schedule::priority;
    EXPECT_EQ(axes.size(), tuned ? 3U : 1U) << schedule_name(schedule);
    for (const auto& [name, value] : axes) {
      EXPECT_EQ(std::count(schedule_axis_names.begin(), schedule_axis_names.end(), name), 1);
    }
  }
}

TEST(ScheduleAxes, AreReadBack) {
  dlscale::Run horovod = run_by(Schedule::horovod);
  horovod.settings.cycle = Seconds(0.0123456789);
  horovod.settings.fusion_threshold = Bytes(123456789);
  dlscale::Run priority = run_by(Schedule::priority);
  priority.settings.partition = Bytes(4096);
  priority.settings.credit = 7;
  dlscale::Run server = run_by(Schedule::bucketed, Synchronisation::parameter_server);
  server.settings.servers = 2;
  dlscale::Run sharded = run_by(Schedule::wait_free, Synchronisation::parameter_server);
  sharded.settings.servers = 3;
  sharded.settings.sharding = Sharding::tensorflow;
  dlscale::Run called = sharded;
  called.settings.transport = Transport::grpc;
  dlscale::Run of_nodes = called;
  of_nodes.settings.callers = Callers::nodes;
  EXPECT_FALSE(schedule_axes(called).contains("callers"));
  EXPECT_FALSE(schedule_axes(server).contains("sharding"));
  EXPECT_FALSE(schedule_axes(sharded).contains("transport"));
  for (const dlscale::Run& run :
       {horovod, priority, server, sharded, called, of_nodes, run_by(Schedule::wait_free)}) {
    dlscale::Run read = run_by(Schedule::sequential);
    read_schedule_axes(schedule_axes(run), read);
    EXPECT_EQ(read.schedule, run.schedule);
    EXPECT_EQ(read.synchronisation, run.synchronisation);
    EXPECT_EQ(read.settings, run.settings) << schedule_name(run.schedule);
  }
  EXPECT_EQ(schedule_axes(horovod).at("fusion_threshold"), "123456789 B");
}

}  // namespace
}  // namespace dlscale
