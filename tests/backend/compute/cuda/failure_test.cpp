#include "backend/compute/cuda/runtime/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

/// What a user reads where there is no device to work on, or not enough of one.
namespace dlscale::backend::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

const Situation good{.place = 0,
                     .devices = 2,
                     .driver_version = 13000,
                     .runtime_version = 13000,
                     .gpu = "NVIDIA H200",
                     .compute_capability = "9.0"};

/// The exit code and the sentence of what `call` throws.
struct Refusal {
  ExitCode code = ExitCode::ok;
  std::string message;
};

template <class Call>
Refusal refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

Refusal refusal_of(cudaError_t code, const Situation& situation) {
  return refusal_of([&] { refuse_device(code, situation); });
}

TEST(CudaRefusal, SaysThatThereIsNoDriver) {
  // Without a driver the runtime says that the driver is insufficient, of version 0.
  Situation bare = good;
  bare.driver_version = 0;
  const Refusal refusal = refusal_of(cudaErrorInsufficientDriver, bare);
  EXPECT_EQ(refusal.code, ExitCode::not_built);
  EXPECT_THAT(refusal.message, HasSubstr("needs an NVIDIA driver, and this machine has none"));
}

TEST(CudaRefusal, SaysWhichCudaTheDriverKnows) {
  Situation old = good;
  old.driver_version = 12040;
  const Refusal refusal = refusal_of(cudaErrorInsufficientDriver, old);
  EXPECT_EQ(refusal.code, ExitCode::not_built);
  EXPECT_THAT(refusal.message, HasSubstr("up to 12.4"));
  EXPECT_THAT(refusal.message, HasSubstr("CUDA 13.0"));
}

TEST(CudaRefusal, SaysThatThereIsNoGpu) {
  const Refusal refusal = refusal_of(cudaErrorNoDevice, good);
  EXPECT_EQ(refusal.code, ExitCode::not_built);
  EXPECT_THAT(refusal.message, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(CudaRefusal, SaysHowManyRanksANodeHasGpusFor) {
  Situation crowded = good;
  crowded.place = 2;
  const Refusal refusal = refusal_of([&] { expect_device_for(crowded); });
  EXPECT_EQ(refusal.code, ExitCode::bad_input);
  EXPECT_THAT(refusal.message, HasSubstr("Launch at most 2 ranks per node"));
  crowded.devices = 1;
  EXPECT_THAT(refusal_of([&] { expect_device_for(crowded); }).message,
              HasSubstr("Launch at most 1 rank per node"));
}

TEST(CudaRefusal, IsNotMadeWhereEachRankHasAGpu) {
  Situation last = good;
  last.place = 1;
  EXPECT_NO_THROW(expect_device_for(last));
}

TEST(CudaRefusal, SaysThatTheGpuIsBusy) {
  const Refusal refusal = refusal_of(cudaErrorDevicesUnavailable, good);
  EXPECT_EQ(refusal.code, ExitCode::bad_input);
  EXPECT_THAT(refusal.message, HasSubstr("GPU 0 is busy"));
}

TEST(CudaRefusal, NamesTheArchitectureToBuildFor) {
  const Refusal refusal = refusal_of(cudaErrorNoKernelImageForDevice, good);
  EXPECT_EQ(refusal.code, ExitCode::not_built);
  EXPECT_THAT(refusal.message, HasSubstr("NVIDIA H200 (compute capability 9.0)"));
  EXPECT_THAT(refusal.message, HasSubstr("CMAKE_CUDA_ARCHITECTURES=90."));
}

TEST(CudaRefusal, NamesTheCodeOfWhatItDoesNotKnow) {
  const Refusal refusal = refusal_of(cudaErrorECCUncorrectable, good);
  EXPECT_EQ(refusal.code, ExitCode::wrong_result);
  EXPECT_THAT(refusal.message, HasSubstr("cudaErrorECCUncorrectable"));
}

TEST(CudaMemory, SaysHowMuchIsWantedAndFree) {
  EXPECT_THAT(out_of_memory("NVIDIA H200", 150'000'000'000, 2'500'000'000, 150'754'820'096),
              HasSubstr("NVIDIA H200 has no 150.00 GB of memory left: 2.50 GB of 150.75 GB"));
}

TEST(CudaMemory, OfTheHostIsNotBlamedOnTheGpu) {
  const Refusal refusal =
      refusal_of([] { check_pinned(cudaErrorMemoryAllocation, "cudaMallocHost", 4096); });
  EXPECT_EQ(refusal.code, ExitCode::bad_input);
  EXPECT_THAT(refusal.message,
              HasSubstr("cudaMallocHost could not pin 4096 bytes of the host's memory"));
  EXPECT_THAT(refusal.message, Not(HasSubstr("GPU")));
  EXPECT_THAT(refusal.message, Not(HasSubstr("nvidia-smi")));
}

TEST(CudaMemory, ThatIsPinnedMayFailForOtherReasons) {
  EXPECT_NO_THROW(check_pinned(cudaSuccess, "cudaMallocHost", 4096));
  const Refusal refusal =
      refusal_of([] { check_pinned(cudaErrorInvalidValue, "cudaHostRegister", 4096); });
  EXPECT_EQ(refusal.code, ExitCode::wrong_result);
  EXPECT_THAT(refusal.message,
              HasSubstr("4096 bytes of the host's memory: cudaHostRegister failed: "));
}

TEST(CudaCall, NamesTheCallTheCodeAndTheLayer) {
  const Refusal refusal =
      refusal_of([] { check(cudaErrorInvalidValue, "cudaMemcpyAsync", "layer conv1"); });
  EXPECT_EQ(refusal.code, ExitCode::wrong_result);
  EXPECT_THAT(refusal.message, HasSubstr("layer conv1: cudaMemcpyAsync failed: "));
  EXPECT_THAT(refusal.message, HasSubstr("cudaErrorInvalidValue"));
}

TEST(CudaCall, KeepsApartWhatIsNotOfferedFromWhatFails) {
  const auto code_of = [](auto code) {
    return refusal_of([&] { check(code, "call", "layer"); }).code;
  };
  EXPECT_EQ(code_of(cudaSuccess), ExitCode::ok);
  EXPECT_EQ(code_of(cudaErrorMemoryAllocation), ExitCode::bad_input);
  EXPECT_EQ(code_of(cudaErrorNoKernelImageForDevice), ExitCode::not_built);
  EXPECT_EQ(code_of(CUDNN_STATUS_SUCCESS), ExitCode::ok);
  EXPECT_EQ(code_of(CUDNN_STATUS_NOT_SUPPORTED), ExitCode::not_built);
  EXPECT_EQ(code_of(CUDNN_STATUS_NOT_SUPPORTED_SHAPE), ExitCode::not_built);
  EXPECT_EQ(code_of(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH), ExitCode::not_built);
  EXPECT_EQ(code_of(CUDNN_STATUS_BAD_PARAM), ExitCode::wrong_result);
  EXPECT_EQ(code_of(CUDNN_STATUS_EXECUTION_FAILED), ExitCode::wrong_result);
  EXPECT_EQ(code_of(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED), ExitCode::bad_input);
  EXPECT_EQ(code_of(CUBLAS_STATUS_SUCCESS), ExitCode::ok);
  EXPECT_EQ(code_of(CUBLAS_STATUS_NOT_SUPPORTED), ExitCode::not_built);
  EXPECT_EQ(code_of(CUBLAS_STATUS_ALLOC_FAILED), ExitCode::bad_input);
  EXPECT_EQ(code_of(CUBLAS_STATUS_EXECUTION_FAILED), ExitCode::wrong_result);
}

}  // namespace
}  // namespace dlscale::backend::cuda
