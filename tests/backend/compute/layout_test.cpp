#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/layers.hpp"

/// Activations in a layout that is asked for; that answers are right in it: conformance_test.
namespace dlscale::backend {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::array kinds{LayoutKind::nchw, LayoutKind::nhwc, LayoutKind::blocked};
constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};
constexpr Convolution square{.out_channels = 64, .kernel_h = 3, .kernel_w = 3, .pad = 1};

/// What is said of a pass that does not work in the layout; empty if it does.
std::string refusal(ComputeDevice& device, const Layer& layer, LayoutKind kind, Pass pass,
                    DType dtype = DType::f32) {
  try {
    const OperationSpec spec = laid_out(device, plain_spec(device, layer, 2, dtype), kind);
    expect_laid_out(device, spec, *device.create(spec), pass);
  } catch (const Unsupported& error) {
    return error.what();
  }
  return "";
}

class OfOneDnn : public testing::Test {
 protected:
  void SetUp() override {
    const ComputeBackend* backend = family<ComputeBackend>().find("onednn");
    if (backend == nullptr) GTEST_SKIP() << "onednn is not in this build";
    device = backend->open({});
  }
  std::unique_ptr<ComputeDevice> device;
};

using Layouts = OfOneDnn;

TEST_F(Layouts, AreWhatConvolutionsComputeOn) {
  const Layer layer = make_layer(square, {{32, 10, 10}});
  for (const LayoutKind kind : kinds) {
    for (const Pass pass : passes) {
      EXPECT_EQ(refusal(*device, layer, kind, pass), "")
          << pass_name(pass) << " in " << layout_kind_name(kind);
    }
  }
}

TEST_F(Layouts, AreKeptByLayersThatTakeThemAsTheyCome) {
  const ImageShape images{32, 8, 8};
  const auto all = {
      make_layer(Relu{}, {images}),
      make_layer(Pooling{.kind = PoolingKind::max, .kernel_h = 2, .kernel_w = 2, .stride = 2},
                 {images}),
      make_layer(BatchNorm{}, {images}), make_layer(Sum{}, {images, images})};
  for (const Layer& layer : all) {
    for (const LayoutKind kind : kinds) {
      EXPECT_EQ(refusal(*device, layer, kind, Pass::forward), "")
          << kind_name(layer.kind) << " in " << layout_kind_name(kind);
    }
  }
}

TEST_F(Layouts, HaveTheirElementsWhereTheirNamesSay) {
  const TensorDesc nhwc = device->arranged({2, 3, 4, 5}, DType::f32, LayoutKind::nhwc);
  const TensorDesc blocked = device->arranged({2, 3, 4, 5}, DType::f32, LayoutKind::blocked);
  EXPECT_EQ(device->arranged({2, 3, 4, 5}, DType::f32, LayoutKind::nchw).layout,
            device->plain({2, 3, 4, 5}, DType::f32).layout);
  EXPECT_EQ(nhwc.layout.bytes, 4U * 120);
  EXPECT_GE(blocked.layout.bytes, 4U * 2 * 8 * 20) << "3 channels take a whole block";
  const std::vector<float> values = shuffled(120, 1);
  for (const TensorDesc& desc : {nhwc, blocked}) {
    const Buffer memory = device->allocate(desc.layout.bytes);
    const Tensor tensor{desc, memory.get()};
    write(*device, values, tensor);
    EXPECT_EQ(read(*device, tensor), values) << desc.layout.name;
  }
  const Buffer memory = device->allocate(nhwc.layout.bytes);
  const Tensor tensor{nhwc, memory.get()};
  write(*device, values, tensor);
  for (std::size_t channel = 0; channel < 3; ++channel) {  // of the first pixel
    EXPECT_EQ(tensor.as<float>()[channel], values[channel * 20]);
  }
}

TEST_F(Layouts, ThatAPassWouldReorderAreRefusedByName) {
  const Layer after_images = make_layer(FullyConnected{.outputs = 16}, {{32, 4, 4}});
  EXPECT_EQ(refusal(*device, after_images, LayoutKind::nchw, Pass::forward), "");
  EXPECT_THAT(refusal(*device, after_images, LayoutKind::nhwc, Pass::forward),
              AllOf(HasSubstr("layer under_test"), HasSubstr("onednn"), HasSubstr("nhwc"),
                    HasSubstr("reorder")));
}

TEST_F(Layouts, ThatTheOutputCannotHaveAreRefusedByName) {
  const Layer loss = make_layer(SoftmaxCrossEntropy{}, {{32, 1, 1}});
  EXPECT_THAT(refusal(*device, loss, LayoutKind::blocked, Pass::forward),
              AllOf(HasSubstr("leaves its output as"), HasSubstr("blocked")));
}

/// Those of the host that have one order.
TEST(OneLayout, IsWhatARefusalNames) {
  for (const char* name : {"reference", "native"}) {
    const ComputeBackend* backend = family<ComputeBackend>().find(name);
    if (backend == nullptr) continue;  // native needs oneDNN
    const auto device = backend->open({});
    const Layer layer = make_layer(square, {{16, 6, 6}});
    for (const Pass pass : passes) {
      EXPECT_EQ(refusal(*device, layer, LayoutKind::nchw, pass), "") << name;
      for (const LayoutKind kind : {LayoutKind::nhwc, LayoutKind::blocked}) {
        EXPECT_THAT(refusal(*device, layer, kind, pass),
                    AllOf(HasSubstr(name), HasSubstr("in nchw only"),
                          HasSubstr(std::string(layout_kind_name(kind)))));
      }
    }
  }
}

/// GPUs compute in the order that their backend is named for.
TEST(OneLayout, OfAGpuIsThatOfItsBackend) {
  const auto expect = [](const char* name, LayoutKind own, LayoutKind other, const char* instead) {
    const ComputeBackend* backend = family<ComputeBackend>().find(name);
    if (backend == nullptr) GTEST_SKIP() << name << " is not in this build";
    const OpenedDevice opened = try_open(*backend);
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    const Layer layer = make_layer(square, {{32, 10, 10}});
    EXPECT_EQ(refusal(*opened.device, layer, own, Pass::forward), "");
    EXPECT_THAT(refusal(*opened.device, layer, other, Pass::forward), HasSubstr(instead));
    EXPECT_THAT(refusal(*opened.device, layer, LayoutKind::blocked, Pass::forward),
                HasSubstr("no blocked layouts"));
  };
  expect("cuda", LayoutKind::nhwc, LayoutKind::nchw, "Measure nchw by cuda_nchw");
  expect("cuda_nchw", LayoutKind::nchw, LayoutKind::nhwc, "Measure nhwc by cuda");
}

}  // namespace
}  // namespace dlscale::backend
