#include "tests/report/samples.hpp"

#include <cmath>

namespace dlscale::report::samples {
namespace {

constexpr std::size_t iterations = 8;

Series constant(const std::string& unit, int ranks, double value) {
  const std::vector<double> rank(iterations, value);
  return make_series(unit, std::vector<std::vector<double>>(static_cast<std::size_t>(ranks), rank));
}

template <class Q>
model::Estimate<Q> around(double value) {
  return {Q(value), Q(0.98 * value), Q(1.02 * value)};
}

model::Segment segment(double from, double to, double alpha, double beta) {
  return {Bytes(from), Bytes(to), around<Seconds>(alpha), around<SecondsPerByte>(beta), 0.03, 9};
}

}  // namespace

Measurement e2e(const RunSpec& spec, const PhaseTimes& times) {
  Measurement measurement;
  measurement.benchmark = "e2e";
  const std::string ranks = std::to_string(spec.ranks);
  measurement.axes = {{"network", spec.network},
                      {"batch", "8"},
                      {"dtype", "f32"},
                      {"backend", "onednn"},
                      {"schedule", std::string(schedule_name(spec.schedule))},
                      {"ranks", ranks},
                      {"ranks_on_node", ranks},
                      {"cores_per_rank", "1"},
                      {"threads", "1"},
                      {"loader_threads", "1"},
                      {"prefetch", "2"},
                      {"repeat", std::to_string(spec.repeat)}};
  const auto add = [&](const char* name, double value) {
    measurement.series[name] = constant("s", spec.ranks, value);
  };
  add("t_iter", times.total());
  add("t_io", times.io);
  add("t_h2d", times.h2d);
  add("t_f", times.forward);
  add("t_b", times.backward);
  add("t_comm_exposed", times.exposed);
  add("t_u", times.update);
  add("t_other", times.other);
  add("t_comm_hidden", 0.05);
  add("t_load", 0.3);
  measurement.series["loss"] = constant("1", spec.ranks, 2.3);
  measurement.implementation = "onednn 2.6";
  return measurement;
}

Measurement timed(const std::string& benchmark, std::map<std::string, std::string> axes,
                  std::vector<double> samples) {
  Measurement measurement;
  measurement.benchmark = benchmark;
  measurement.axes = std::move(axes);
  measurement.series["time"] = make_series("s", {std::move(samples)});
  return measurement;
}

ResultFile file(const std::string& benchmark, std::vector<Measurement> measurements) {
  ResultFile file;
  file.path = "results/" + benchmark + ".jsonl";
  file.header.benchmark = benchmark;
  file.header.command = {"dlscale", "bench", benchmark};
  file.header.environment.date = "2024-05-01T12:00:00Z";
  file.header.environment.cpu = "Sample CPU";
  file.header.environment.cores = 2;
  file.header.environment.libraries = {{"onednn", "2.6.0"}};
  file.measurements = std::move(measurements);
  file.complete = true;
  return file;
}

model::Prediction prediction(const Run& run, const PhaseTimes& times) {
  const double total = times.total() - times.other;
  model::Prediction prediction;
  prediction.run = run;
  prediction.time = {Seconds(times.io),       Seconds(times.h2d),     Seconds(times.forward),
                     Seconds(times.backward), Seconds(times.exposed), Seconds(times.update),
                     Seconds(total),          Seconds(0.05),          Seconds(0.3)};
  prediction.closed_form = prediction.time;
  prediction.low = Seconds(0.98 * total);
  prediction.high = Seconds(1.02 * total);
  prediction.images_per_s = run.ranks * run.batch / total;
  prediction.efficiency = run.ranks == 1 ? 1 : 0.9;
  prediction.speedup = run.ranks * prediction.efficiency;
  prediction.bound = run.ranks > 8 ? "communication" : "compute";
  if (run.ranks > 2)
    prediction.notes.push_back(model::remark("all-reduce extrapolated from 2 ranks"));
  return prediction;
}

std::vector<model::Prediction> curve(const std::string& network) {
  std::vector<model::Prediction> curve;
  for (int ranks = 1; ranks <= 64; ranks *= 2) {
    Run run;
    run.network = network;
    run.ranks = ranks;
    run.ranks_per_node = ranks;
    PhaseTimes times;
    times.exposed = 0.02 * std::log2(ranks);
    curve.push_back(prediction(run, times));
  }
  return curve;
}

model::Machine machine() {
  model::Machine machine;
  machine.cluster.name = "local";
  machine.cluster.devices_per_node = 2;
  machine.cluster.device.name = "Sample CPU";
  machine.fitted = true;
  machine.collectives.push_back(
      {"all_reduce", 2, 2, "spin",
       model::Piecewise({segment(4, 65536, 2e-6, 4e-10), segment(65536, 1e9, 1.5e-5, 2.2e-10)}),
       "results/comm.jsonl"});
  machine.h2d.push_back({2, 1, DType::f32, model::Piecewise({segment(4096, 1e9, 1e-6, 1e-10)}),
                         "results/memory.jsonl"});
  machine.loaders.push_back({2, 224, 224, around<Seconds>(1e-4), around<Seconds>(2e-3),
                             around<Seconds>(5e-4), "results/io.jsonl"});
  machine.memory_bandwidth["copy"] = around<BytesPerSecond>(2e10);
  model::KernelTime kernel;
  kernel.kernel = "convolution c64 h56 w56 k64";
  kernel.time = around<Seconds>(1e-3);
  kernel.work = {Flops(2e6), Bytes(1e5)};
  kernel.implementation = "jit:avx512";
  machine.kernels.push_back(kernel);
  machine.sources = {"results/comm.jsonl"};
  return machine;
}

ReportInput report_input() {
  std::vector<Measurement> measurements;
  for (const char* network : {"alexnet", "resnet50"}) {
    for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
      for (const int ranks : {1, 2}) {
        for (int repeat = 0; repeat < 3; ++repeat) {
          PhaseTimes times;
          times.exposed = ranks == 1 ? 0 : 0.1 + 0.01 * repeat;
          measurements.push_back(e2e({network, ranks, schedule, repeat}, times));
        }
      }
    }
  }
  ReportInput input;
  input.results = {file("e2e", std::move(measurements))};
  input.validation = validate(
      [](const Run& run) {
        PhaseTimes times;
        times.exposed = run.ranks == 1 ? 0 : 0.1;
        return prediction(run, times);
      },
      input.results);
  input.curves = {curve("alexnet"), curve("resnet50")};
  input.machine = machine();
  return input;
}

Measurement algorithm(const AlgorithmSpec& spec) {
  Measurement row =
      timed("conv",
            {{"network", "vgg16"},
             {"layer", "conv1_2"},
             {"kernel", "convolution c64 h224 w224 k64 r3 s3 stride1 pad1 groups1 bias"},
             {"pass", spec.pass},
             {"batch", "4"},
             {"dtype", "f32"},
             {"backend", spec.backend},
             {"algorithm", spec.algorithm},
             {"threads", "1"},
             {"ranks", "1"},
             {"ranks_on_node", "1"},
             {"cache", "cold"}},
            std::vector<double>(8, spec.seconds));
  row.implementation = spec.implementation;
  row.work = Work{Flops(1.48e10), Bytes(1.03e8)};
  row.algorithmic_work = Work{Flops(5e9), Bytes(5e8)};
  row.workspace = Bytes(3.0 * 1024 * 1024);
  row.creation = Seconds(1.5e-3);
  row.max_relative_error = 2e-5;
  row.mean_relative_error = 3e-7;
  return row;
}

ResultFile algorithms() {
  std::vector<Measurement> rows;
  for (const char* pass : {"forward", "backward_data"}) {
    rows.push_back(algorithm({"onednn", "direct", "jit:avx512_core", pass, 0.2}));
    rows.push_back(algorithm({"native", "im2col", "im2col+gemm", pass, 0.3}));
    rows.push_back(algorithm({"native", "winograd_f4", "winograd F(4x4,3x3) avx3", pass, 0.1}));
    rows.push_back(algorithm({"onednn", "chosen", "jit:avx512_core", pass, 0.19}));
    Measurement refused = algorithm({"native", "fft", "", pass, 1});
    refused.status = Status::unsupported;
    refused.reason = "images need 256 points each way";
    refused.series.clear();
    rows.push_back(refused);
  }
  return file("conv", std::move(rows));
}

ResultFile memory() {
  std::vector<Measurement> rows;
  for (const auto& [bytes, seconds] : {std::pair{32768.0, 1e-6}, std::pair{3.2e7, 1e-2}}) {
    rows.push_back(timed("memory",
                         {{"operation", "triad"},
                          {"bytes", std::to_string(static_cast<long>(bytes))},
                          {"threads", "1"},
                          {"ranks", "1"},
                          {"ranks_on_node", "1"}},
                         std::vector<double>(8, seconds)));
    rows.back().work = Work{Flops(bytes / 4), Bytes(3 * bytes)};
  }
  return file("memory", std::move(rows));
}

ResultFile latency() {
  Measurement row;
  row.benchmark = "latency";
  row.axes = {{"operation", "levels"},
              {"pages", "small"},
              {"stride", "64"},
              {"ranks", "1"},
              {"ranks_on_node", "1"}};
  const auto add = [&row](const char* name, const char* unit, std::vector<double> values) {
    row.series[name] = make_series(unit, {std::move(values)});
  };
  add("working_set", "B", {4096, 16384, 65536, 262144});
  add("latency", "s", {1e-9, 1e-9, 9e-9, 9e-9});
  add("level_capacity", "B", {47104, 262144});
  add("level_capacity_low", "B", {45056, 262144});
  add("level_capacity_high", "B", {49152, 262144});
  add("level_latency", "s", {1.25e-9, 9e-9});
  add("level_cycles", "cycles", {4.5, 33});
  add("told_capacity", "B", {49152});
  row.implementation = "pointer chases; hwloc: L1 48.0 KiB measured 46.0 KiB";
  return file("latency", {row});
}

ResultFile lines() {
  const auto row_of = [](const char* operation) {
    Measurement row;
    row.benchmark = "latency";
    row.axes = {
        {"operation", operation}, {"pages", "small"}, {"ranks", "1"}, {"ranks_on_node", "1"}};
    return row;
  };
  Measurement line = row_of("line");
  line.series["distance"] = make_series("B", {{8, 16, 32, 64, 128}});
  line.series["latency"] = make_series("s", {{1e-9, 1e-9, 1e-9, 4e-9, 4e-9}});
  line.series["line"] = make_series("B", {{64}});
  line.series["told_line"] = make_series("B", {{128}});
  Measurement reach = row_of("page_reach");
  reach.implementation = "pointer chases by pages of 4.00 KiB";
  reach.series["level_capacity"] = make_series("B", {{393216, 8388608}});
  reach.series["level_capacity_low"] = make_series("B", {{327680, 8388608}});
  reach.series["level_capacity_high"] = make_series("B", {{458752, 8388608}});
  reach.series["level_latency"] = make_series("s", {{1e-9, 3e-9}});
  return file("latency", {line, reach});
}

ResultFile peaks() {
  std::vector<Measurement> rows;
  for (const auto& [isa, flops] : {std::pair{"avx2", 9e10}, std::pair{"avx512", 1.8e11}}) {
    rows.push_back(timed("peak",
                         {{"operation", "fma"},
                          {"isa", isa},
                          {"dtype", "f32"},
                          {"threads", "1"},
                          {"ranks", "1"},
                          {"ranks_on_node", "1"}},
                         std::vector<double>(8, 1.0)));
    rows.back().work = Work{Flops(flops), Bytes(0)};
  }
  return file("peak", std::move(rows));
}

ReportInput parts_input() {
  ReportInput input;
  input.trained = false;
  input.results = {algorithms(), memory(), latency(), peaks()};
  input.kernels = std::make_shared<KernelStudy>(input.results);
  return input;
}

}  // namespace dlscale::report::samples
