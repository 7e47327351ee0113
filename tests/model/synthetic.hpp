#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/results/measurement.hpp"

// A machine whose true parameters are known, and the results it would give.
namespace dlscale::model::synthetic {

/// A small network with a branch, so that every pass occurs.
inline Network branched() {
  return Network("branched", {3, 16, 16},
                 {{"conv1", Convolution{8, 3, 3, 1, 1, 1, true}, {"input"}},
                  {"relu1", Relu{}, {"conv1"}},
                  {"conv2a", Convolution{8, 3, 3, 1, 1, 1, false}, {"relu1"}},
                  {"norm2a", BatchNorm{}, {"conv2a"}},
                  {"sum", Sum{}, {"norm2a", "relu1"}},
                  {"fc", FullyConnected{10, true}, {"sum"}},
                  {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
}

/// Two CPU workers on one node, with nothing known from data sheets.
inline Cluster two_workers() {
  Cluster cluster;
  cluster.name = "pair";
  cluster.nodes = 1;
  cluster.devices_per_node = 2;
  cluster.device.name = "half a processor";
  cluster.device.kind = DeviceKind::cpu;
  cluster.host.cores = 2;
  cluster.intra_node.name = "memory";
  cluster.inter_node.name = "none";
  return cluster;
}

using Axes = std::map<std::string, std::string>;

inline Measurement measured(std::string benchmark, Axes axes, double seconds,
                            const std::string& series = "time") {
  Measurement m;
  m.benchmark = std::move(benchmark);
  m.axes = std::move(axes);
  m.series[series] = make_series("s", {std::vector<double>(9, seconds)});
  m.implementation = "synthetic";
  return m;
}

inline ResultFile file(const std::string& path, std::vector<Measurement> measurements) {
  ResultFile result;
  result.path = path;
  result.header.benchmark = measurements.empty() ? "" : measurements.front().benchmark;
  result.header.environment.cpu = "synthetic";
  result.measurements = std::move(measurements);
  result.complete = true;
  return result;
}

/// True rates: 1 GFLOP/s and 10 GB/s added up, so that every kernel's time is known.
inline double kernel_seconds(const Work& work) {
  return work.flops.si() / 1e9 + work.bytes.si() / 1e10;
}

inline Measurement conv(const Network& network, Step step, int batch, int ranks) {
  const Work declared = work(network, step, batch, DType::f32);
  Measurement m = measured("conv",
                           {{"network", network.name()},
                            {"layer", network.layer(step.layer).name},
                            {"kernel", kernel_key(network, step.layer)},
                            {"pass", std::string(pass_name(step.pass))},
                            {"batch", std::to_string(batch)},
                            {"dtype", "f32"},
                            {"backend", "onednn"},
                            {"threads", "1"},
                            {"ranks", std::to_string(ranks)},
                            {"ranks_on_node", std::to_string(ranks)},
                            {"cache", "cold"}},
                           kernel_seconds(declared));
  m.work = declared;
  return m;
}

/// All-reduce on 2 ranks: 20 us + 1 ns/B up to 90 KiB, 50 us + 0.25 ns/B above. Sizes measured are
/// powers of two, so that the fit puts the breakpoint at 64 KiB · √2.
inline double all_reduce_seconds(double bytes) {
  return bytes <= 92160 ? 20e-6 + 1e-9 * bytes : 50e-6 + 0.25e-9 * bytes;
}
inline double update_seconds(double bytes) {
  return 2e-6 + 0.5e-9 * bytes;
}
inline double copy_seconds(double bytes) {
  return 1e-6 + 0.1e-9 * bytes;
}
constexpr double read_seconds = 0.1e-3;
constexpr double decode_seconds = 1.0e-3;
constexpr double augment_seconds = 0.3e-3;  // of 16 × 16 pixels

inline Measurement sized(const std::string& benchmark, Axes axes, double bytes, double seconds) {
  axes["bytes"] = std::to_string(static_cast<long>(bytes));
  return measured(benchmark, std::move(axes), seconds);
}

inline Measurement io(int ranks) {
  Measurement m = measured("io",
                           {{"height", "16"},
                            {"width", "16"},
                            {"loader_threads", "1"},
                            {"source", "page_cache"},
                            {"ranks", std::to_string(ranks)},
                            {"ranks_on_node", std::to_string(ranks)}},
                           decode_seconds, "decode");
  m.series["read"] = make_series("s", {std::vector<double>(9, read_seconds)});
  m.series["augment"] = make_series("s", {std::vector<double>(9, augment_seconds)});
  return m;
}

/// Everything calibrate() needs for the network at a batch, on 1 and 2 ranks.
inline std::vector<ResultFile> results(const Network& network, int batch) {
  std::vector<Measurement> kernels;
  std::vector<Measurement> rest;
  for (const int ranks : {1, 2}) {
    const Axes on{{"ranks", std::to_string(ranks)},
                  {"ranks_on_node", std::to_string(ranks)},
                  {"threads", "1"},
                  {"backend", "onednn"},
                  {"dtype", "f32"},
                  {"operation", "h2d"}};
    for (const Step step : forward_steps(network))
      kernels.push_back(conv(network, step, batch, ranks));
    for (const Step step : backward_steps(network))
      kernels.push_back(conv(network, step, batch, ranks));
    for (double bytes = 1024; bytes < 1e8; bytes *= 2) {
      rest.push_back(sized("update", on, bytes, update_seconds(bytes)));
      rest.push_back(sized("memory", on, bytes, copy_seconds(bytes)));
    }
    rest.push_back(io(ranks));
  }
  for (double bytes = 1024; bytes < 1e8; bytes *= 2) {
    rest.push_back(sized("comm",
                         {{"collective", "all_reduce"},
                          {"ranks", "2"},
                          {"ranks_on_node", "2"},
                          {"library", "MPI"},
                          {"waiting", "sleep"},
                          {"cache", "cold"}},
                         bytes, all_reduce_seconds(bytes)));
  }
  return {file("kernels.jsonl", kernels), file("rest.jsonl", rest)};
}

}  // namespace dlscale::model::synthetic
