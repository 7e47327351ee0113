#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/device_file.hpp"
#include "core/run/run.hpp"
#include "model/roofline/sheet/products.hpp"

namespace dlscale::model::published {

/// A product or a pass of a convolution that someone timed alone on a GPU.
struct KernelSample {
  const DeviceSheet* gpu = nullptr;
  DType dtype = DType::f32;  ///< f32 or f16
  sheet::Product product;
  Seconds time;  ///< > 0
};

/// Samples of several files, and the number of rows that were left out, by reason.
struct KernelSamples {
  std::vector<KernelSample> samples;
  std::map<std::string, int> left_out;
};

/// Adds the rows of a file of comma-separated values. Its columns say which kind it is:
///   products of DeepBench    device, sheet, M, N, K, time_ms      sheet names FP32 or FP16
///   convolutions of it       device, sheet, N, C, H, W, K, filter_h, filter_w, pad_h, pad_w,
///                            stride_h, stride_w, fwd_ms, bwd_inputs_ms, bwd_params_ms
///   products of NeuSight     device, B, M, N, K, latency_ms       f32; B products have one K × N
/// Devices are found by the names of data sheets. Rows are left out if there is none. DeepBench
/// states its libraries in its workbooks alone, not in these tables: those of GPUs launched before
/// 2017 are CUDA 7.5 and 8.0, of 2015 and 2016, and left out. The catalogue must outlive the
/// samples. Throws ConfigError, which names file, line and column.
void read_kernel_times(const std::filesystem::path& path, const DeviceCatalogue& catalogue,
                       KernelSamples& read);

}  // namespace dlscale::model::published
