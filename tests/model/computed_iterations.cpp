// Rows of published iterations and merged messages, as the code computes them.
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "core/network/merge.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "tests/model/computed_checks.hpp"
#include "tests/model/googlenet_trace.hpp"
#include "tests/model/nominal_ring.hpp"

namespace dlscale::model {
namespace {

/// Images a second of BSP, batch 64 on GPUs that take 64 / 253.1 s for it.
Rule bulk_synchronous(int workers, double bandwidth, double relative) {
  return [=](const std::vector<double>&) {
    const Seconds comm = nominal_ring(workers, Bytes(102228128), BytesPerSecond(bandwidth));
    return Computed{{near_by(throughput(workers, 64, Seconds(64 / 253.1) + comm), relative)}};
  };
}

/// a and b of an all-reduce. a by that of the row `other`, on as many GPUs as `from`, as the steps
/// of a ring grow; between `least` and `most` of it. b by what each node must send at least over
/// the link: at most 2.2 times that; of C015, which was fitted to messages of 2 MB at most, below
/// it.
struct Line {
  int workers;
  double link;  ///< B/s
  const char* other;
  int from;
  double least;
  double most;
};

Rule line_of(const Line& line) {
  return [=](const std::vector<double>&) {
    const double steps = (line.workers - 1.0) / (line.from - 1.0);
    const double a = row_of(line.other)[0] * steps;
    const int parties = line.workers > 4 ? line.workers / 4 : line.workers;
    const double b = nominal_ring(parties, Bytes(1e9), BytesPerSecond(line.link)).si() / 1e9;
    const bool below = line.workers == 16 && line.link == 1.25e9;
    return Computed{
        {within(line.least * a, line.most * a), below ? within(0.6 * b, b) : within(b, 2.2 * b)}};
  };
}

/// So many messages as a network has tensors, all alike, from a backward pass of two thirds of
/// computing; they take a line of messages.
struct AlikeTensors {
  double parameters;
  int tensors;
  int element;  ///< bytes
};

/// Of 16 workers whose messages take a line of the row `line`. Where all is one message: computing
/// and that message explain 60 to 87 % of it, for their authors fitted that line to small messages.
/// The other two by what the schedules make of messages: wait-free `spread`, merged 0.19 at most
/// from it. In f16 with many messages, start-ups took less than the line says.
Rule on_16_workers(const AlikeTensors& network, const char* line, double compute,
                   double spread = 0.17) {
  return [=](const std::vector<double>& row) {
    const std::vector<double> of = row_of(line);
    const LinearCost cost{Seconds(of[0]), SecondsPerByte(of[1])};
    std::vector<ReadyGradient> gradients;
    const Seconds forward(compute / 3);
    for (int i = 1; i <= network.tensors; ++i) {
      gradients.push_back({Seconds(compute * 2 / 3 * i / network.tensors),
                           Bytes(network.element * network.parameters / network.tensors)});
    }
    const auto iteration = [&](const Groups& groups) {
      return forward + last_arrival(gradients, groups, cost);
    };
    const Seconds single = iteration(Groups{gradients.size()});
    const double wait_free = iteration(Groups(gradients.size(), 1)) / single;
    const double merged = iteration(merge_optimally(gradients, cost)) / single;
    return Computed{{near_by(row[1] * wait_free, spread),
                     within(single.si() / 0.87, single.si() / 0.60),
                     near_by(row[1] * merged, 0.22)}};
  };
}

enum class Method { wait_free, merged, single };

/// Of a GoogLeNet on K80 with forward half of backward, as its authors assume it.
Seconds googlenet_iteration(Method method, int nodes) {
  const auto gradients = googlenet_gradients();
  const LinearCost cost = googlenet_cost(nodes);
  const Groups groups = method == Method::wait_free ? Groups(gradients.size(), 1)
                        : method == Method::merged  ? merge_greedily(gradients, cost)
                                                    : Groups{gradients.size()};
  return 0.5 * gradients.back().ready + last_arrival(gradients, groups, cost);
}

/// Images a second on 1, 2, 4 and 8 nodes, foretold from those of another method.
Rule googlenet(Method method, Method other, const char* other_row, double relative) {
  return [=](const std::vector<double>&) {
    const std::vector<double> from = row_of(other_row);
    Computed computed{{near_by(from[0], 1e-12)}};  // which one node is alike with
    for (std::size_t i = 1; i < from.size(); ++i) {
      const int nodes = 1 << i;
      const double ratio = googlenet_iteration(other, nodes) / googlenet_iteration(method, nodes);
      computed.numbers.push_back(near_by(from[i] * ratio, relative));
    }
    return computed;
  };
}

/// Finish of backward and messages, ms, and how many messages these are where they are merged.
Rule googlenet_finish(int nodes) {
  return [=](const std::vector<double>&) {
    const auto gradients = googlenet_gradients();
    const LinearCost cost = googlenet_cost(nodes);
    const auto finish = [&](const Groups& groups) {
      return near(last_arrival(gradients, groups, cost).si() * 1e3, 1e-3);
    };
    const auto number = [](const Groups& groups) {
      return near(static_cast<double>(groups.size()), 0);
    };
    const Groups greedy = merge_greedily(gradients, cost);
    const Groups optimal = merge_optimally(gradients, cost);
    return Computed{{finish(Groups(gradients.size(), 1)), finish(Groups{gradients.size()}),
                     finish(greedy), number(greedy), finish(optimal), number(optimal)}};
  };
}

Computed two_machine_flow_shop(const std::vector<double>&) {
  std::vector<Seconds> backward;  // from layer 4 to layer 1
  std::vector<Seconds> messages;
  for (const double ms : {4e-3, 3e-3, 2e-3, 1e-3}) backward.emplace_back(ms);
  for (const double ms : {1e-3, 2e-3, 3e-3, 4e-3}) messages.emplace_back(ms);
  return {{near(wait_free_closed_form(backward, messages).finish.si() * 1e3, 1e-12)}};
}

Computed horovod_defaults(const std::vector<double>&) {
  const ScheduleSettings settings;
  const FrameworkProfile before = load_framework("horovod_0.19");
  return {{near(settings.fusion_threshold.si(), 0), near(settings.cycle.si() * 1e3, 1e-12),
           near(before.fusion_threshold.value().si(), 0),
           near(before.fusion_cycle.value().si() * 1e3, 1e-12)}};
}

Computed bucket_defaults(const std::vector<double>&) {
  const ScheduleSettings settings;
  return {{near(settings.first_bucket.si(), 0), near(settings.bucket.si(), 0)}};
}

/// Of ByteScheduler in parameters, of 4 B each.
Computed part_defaults(const std::vector<double>&) {
  const FrameworkProfile scheduler = load_framework("bytescheduler");
  return {{near(ScheduleSettings{}.partition.si(), 0),
           near(scheduler.partition.value().si() / 4, 0),
           near(scheduler.credit.value().si() / 4, 0)}};
}

}  // namespace

Rules iteration_rules() {
  const auto resnet152 = [](int element) { return AlikeTensors{60192808, 467, element}; };
  const auto inception4 = [](int element) { return AlikeTensors{42679816, 449, element}; };
  const auto densenet161 = [](int element) { return AlikeTensors{28681000, 484, element}; };
  const auto densenet201 = [](int element) { return AlikeTensors{20013928, 604, element}; };
  Rules rules{{"C001", two_machine_flow_shop},
              {"C002", bulk_synchronous(8, 1.25e9, 0.009)},
              {"C003", bulk_synchronous(16, 1.25e9, 0.015)},
              {"C004", bulk_synchronous(32, 1.25e9, 0.013)},
              {"C005", bulk_synchronous(4, 6.1e9, 0.002)},
              {"C006", bulk_synchronous(8, 6.1e9, 0.005)},
              {"C007", bulk_synchronous(16, 6.1e9, 0.001)},
              {"C008", bulk_synchronous(32, 6.1e9, 0.008)},
              {"C015", line_of({16, 1.25e9, "C016", 8, 0.75, 1.25})},
              {"C016", line_of({8, 1.25e9, "C015", 16, 0.75, 1.25})},
              {"C017", line_of({16, 7e9, "C018", 8, 0.85, 1.15})},
              {"C018", line_of({8, 7e9, "C017", 16, 0.85, 1.15})},
              {"C019", line_of({4, 15.75e9, "C020", 2, 1, 6})},
              {"C020", line_of({2, 15.75e9, "C019", 4, 1 / 6.0, 1})},
              {"C021", on_16_workers(resnet152(4), "C015", 0.883118)},
              {"C022", on_16_workers(resnet152(2), "C015", 0.388588)},
              {"C023", on_16_workers(resnet152(4), "C017", 0.883118)},
              {"C024", on_16_workers(resnet152(2), "C017", 0.388588)},
              {"C025", on_16_workers(inception4(4), "C015", 0.610822)},
              {"C026", on_16_workers(inception4(2), "C015", 0.279731, 0.25)},
              {"C027", on_16_workers(densenet161(4), "C015", 0.477655)},
              {"C028", on_16_workers(densenet201(4), "C015", 0.360877)},
              {"C029", on_16_workers(densenet201(2), "C015", 0.215182, 0.44)},
              {"C030", googlenet(Method::wait_free, Method::merged, "C031", 0.09)},
              {"C031", googlenet(Method::merged, Method::wait_free, "C030", 0.09)},
              {"C032", googlenet(Method::single, Method::merged, "C031", 0.27)},
              {"C039", horovod_defaults},
              {"C040", bucket_defaults},
              {"C041", part_defaults}};
  int nodes = 1;
  for (const char* id : {"C033", "C034", "C035", "C036", "C037", "C038"}) {
    nodes *= 2;
    rules.emplace(id, googlenet_finish(nodes));
  }
  return rules;
}

}  // namespace dlscale::model
