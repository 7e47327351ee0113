#include "model/roofline/kernels/kernel_sample.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

constexpr const char* kernel_sample_kernel =
    "convolution c64 h28 w28 k64 r3 s3 stride1 pad1 groups1 bias";

Measurement measured_by(const std::string& implementation, double seconds) {
  Measurement measurement = synthetic::measured("conv",
                                                {{"network", "net"},
                                                 {"layer", "conv1"},
                                                 {"kernel", kernel_sample_kernel},
                                                 {"pass", "forward"},
                                                 {"batch", "4"},
                                                 {"dtype", "f32"},
                                                 {"backend", "native"},
                                                 {"threads", "1"},
                                                 {"ranks", "1"},
                                                 {"ranks_on_node", "1"},
                                                 {"cache", "cold"},
                                                 {"algorithm", "chosen"}},
                                                seconds);
  measurement.implementation = implementation;
  return measurement;
}

TEST(KernelSamples, CountWithTheAlgorithmThatRan) {
  Measurement named = measured_by("winograd F(4x4,3x3) avx3+gemm", 3e-3);
  named.axes["algorithm"] = "winograd_f4";
  named.axes["network"] = "other";
  const std::vector files{
      synthetic::file("a.jsonl", {measured_by("winograd F(4x4,3x3) avx3+gemm", 1e-3), named,
                                  measured_by("im2col+gemm", 5e-3)})};
  LeftOut left_out;
  const auto samples = kernel_samples(files, left_out);
  ASSERT_EQ(samples.size(), 2);
  EXPECT_EQ(samples[0].what.way.algorithm(), "native im2col");
  EXPECT_EQ(samples[1].what.way.algorithm(), "native winograd_f4");
  EXPECT_DOUBLE_EQ(samples[1].time.si(), 2e-3);  // between the two
  EXPECT_FALSE(samples[0].repeated());
  EXPECT_EQ(samples[0].repeat_spread(), 0);
  EXPECT_EQ(samples[1].repeats.size(), 2);
  EXPECT_DOUBLE_EQ(samples[1].repeat_spread(), 0.5);  // 1 ms and 3 ms
  EXPECT_EQ(samples[1].layers, (std::vector<std::string>{"net conv1", "other conv1"}));
  EXPECT_EQ(samples[1].what.work.stages.back().name, "bias");
}

TEST(KernelSamples, HaveTheLargestWorkspaceOfTheirMeasurements) {
  Measurement first = measured_by("jit:avx2", 1e-3);
  Measurement second = first;
  Measurement third = first;
  second.workspace = Bytes(4096);
  third.workspace = Bytes(1024);
  LeftOut left_out;
  EXPECT_FALSE(kernel_samples(std::vector{synthetic::file("a.jsonl", {first})}, left_out)
                   .front()
                   .workspace.has_value());
  const std::vector files{synthetic::file("a.jsonl", {first, second, third})};
  EXPECT_EQ(kernel_samples(files, left_out).front().workspace, Bytes(4096));
}

TEST(KernelSamples, CountOurKernelsOnGpusAsTheyRun) {
  Measurement fft = measured_by("reorder+own fft 30x30 cufft cublasLt algo=6+bias", 1e-3);
  fft.axes["backend"] = "cuda";
  Measurement wide = measured_by("own winograd_f4 F(4x4,3x3) cublasLt algo=6+bias", 1e-3);
  wide.axes["backend"] = "cuda";
  wide.axes["kernel"] = "convolution c64 h28 w28 k64 r3 s3 stride1 pad3 groups1 bias";
  const std::vector files{synthetic::file("a.jsonl", {fft, wide})};
  LeftOut left_out;
  const auto samples = kernel_samples(files, left_out);
  ASSERT_EQ(samples.size(), 2);
  EXPECT_EQ(samples[0].what.way.algorithm(), "cuda winograd_f4");
  EXPECT_EQ(samples[1].what.way.algorithm(), "cuda fft");
  EXPECT_EQ(samples[1].what.work.stages.front().name, "tensors to planes");
  EXPECT_EQ(refusal(samples[0].what.way, samples[0].what.shape), "") << "any pad";
}

TEST(KernelSamples, LeaveOutWhatTheyCannotJudge) {
  Measurement half = measured_by("im2col+gemm", 1e-3);
  half.axes["dtype"] = "bf16";
  Measurement beside = measured_by("im2col+gemm", 1e-3);
  beside.axes["ranks_on_node"] = "2";
  Measurement rearranged = measured_by("im2col+gemm", 1e-3);
  rearranged.axes["layout"] = "nhwc";
  Measurement zeros = measured_by("im2col+gemm", 1e-3);
  zeros.axes["values"] = "zeros";
  Measurement pooling = measured_by("jit:avx512", 1e-3);
  pooling.axes["kernel"] = "max_pooling c64 h28 w28 r2 s2 stride2 pad0";
  Measurement wrong = measured_by("im2col+gemm", 1e-3);
  wrong.status = Status::wrong;
  const std::vector files{synthetic::file(
      "a.jsonl", {half, beside, rearranged, zeros, pooling, wrong,
                  measured_by("plan 7 of cuDNN", 1), measured_by("im2col+gemm", 1e-3)})};
  LeftOut left_out;
  EXPECT_EQ(kernel_samples(files, left_out).size(), 1);
  EXPECT_EQ(left_out.other_precisions, 1);
  EXPECT_EQ(left_out.beside_others, 1);
  EXPECT_EQ(left_out.other_layouts, 1);
  EXPECT_EQ(left_out.other_values, 1);
  EXPECT_EQ(left_out.other_kernels, 2);
}

TEST(KernelSamples, RefuseWhatContradictsItself) {
  const auto refused = [](const std::string& axis, const std::string& value) {
    Measurement measurement = measured_by("winograd F(4x4,3x3) avx3+gemm", 1e-3);
    measurement.axes[axis] = value;
    const std::vector files{synthetic::file("a.jsonl", {measurement})};
    LeftOut left_out;
    test::expect_contains(test::config_error([&] { (void)kernel_samples(files, left_out); }),
                          "a.jsonl");
  };
  refused("batch", "0");
  refused("batch", "four");
  refused("threads", "-1");
  refused("kernel", "convolution c64 h28");
  refused("kernel", "convolution c64 h28 w28 k64 r5 s5 stride1 pad1 groups1");
}

TEST(KernelSamples, OfNothingAreRefused) {
  LeftOut left_out;
  EXPECT_THROW((void)kernel_samples({}, left_out), ConfigError);
}

TEST(Refusal, KnowsWhatOneDnnsWinogradLacks) {
  const Way way{.backend = "onednn", .method = convolution::Method::winograd_f4};
  const auto shape = [](int pad, int groups) {
    return parse_convolution_key("convolution c64 h28 w28 k64 r3 s3 stride1 pad" +
                                     std::to_string(pad) + " groups" + std::to_string(groups),
                                 1)
        ->shape;
  };
  EXPECT_EQ(refusal(way, shape(1, 1)), "");
  EXPECT_NE(refusal(way, shape(2, 1)), "");
  EXPECT_NE(refusal(way, shape(1, 2)), "");
  const Way ours{.backend = "native", .method = convolution::Method::winograd_f4};
  EXPECT_EQ(refusal(ours, shape(2, 2)), "");
}

}  // namespace
}  // namespace dlscale::model
