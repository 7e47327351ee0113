#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

constexpr std::string_view small_network = R"(network: small
doc: a test
input: {channels: 3, height: 9, width: 8}
layers:
  - {name: conv, kind: convolution, out_channels: 4, kernel: [3, 2], pad: 1, stride: 2}
  - {name: left, kind: relu}
  - {name: right, kind: max_pooling, kernel: 1, stride: 1, from: conv}
  - {name: add, kind: sum, from: [left, right]}
  - {name: pool, kind: global_average_pooling}
  - {name: fc, kind: fully_connected, outputs: 10}
  - {name: loss, kind: softmax_cross_entropy}
)";

Network network_file_load_text(std::string_view text) {
  return test::load_text(text, load_network);
}

std::string network_file_error_after(std::string_view from, std::string_view to) {
  return test::error_after(small_network, from, to, load_network);
}

TEST(NetworkFile, InfersEveryShape) {
  const Network network = network_file_load_text(small_network);
  ASSERT_EQ(network.layers().size(), 8U);
  EXPECT_EQ(network.layers()[1].output, (ImageShape{4, 5, 5}));  // (9+2-3)/2+1, (8+2-2)/2+1
  EXPECT_EQ(network.layers()[5].output, (ImageShape{4, 1, 1}));
  const auto& pool = std::get<Pooling>(network.layers()[5].kind);
  EXPECT_EQ(pool.kernel_h, 5);
  EXPECT_EQ(pool.kernel_w, 5);
  EXPECT_EQ(network.layers()[1].weight_count(), 4 * 3 * 3 * 2);
  EXPECT_EQ(network.parameter_count(), 72 + 4 + 40 + 10);
  EXPECT_EQ(network.forward_macs(), 72 * 25 + 40);
  EXPECT_EQ(network.consumers(LayerId(1)).size(), 2U);
  EXPECT_EQ(network.classes(), 10);
}

TEST(NetworkFile, UnknownKeyNamesFileLayerAndTheNearestKey) {
  const std::string error = network_file_error_after("stride: 2}", "strid: 2}");
  expect_contains(error, "small.yaml: layer \"conv\": strid is not a known key");
  expect_contains(error, "Did you mean \"stride\"?");
  expect_contains(network_file_error_after("doc: a test", "dok: a test"),
                  "/dok is not a known key");
}

TEST(NetworkFile, MisspeltKeyIsNamedRatherThanTheOneThatIsMissing) {
  expect_contains(network_file_error_after("kernel: [3, 2]", "kernal: [3, 2]"),
                  "layer \"conv\": kernal is not a known key. Did you mean \"kernel\"?");
  expect_contains(network_file_error_after("name: left", "nmae: left"),
                  "/layers/1/nmae is not a known key. Did you mean \"name\"?");
  expect_contains(network_file_error_after("kind: relu", "knid: relu"),
                  "layer \"left\": knid is not a known key. Did you mean \"kind\"?");
  expect_contains(network_file_error_after("layers:", "layer:"),
                  "/layer is not a known key. Did you mean");
  expect_contains(network_file_error_after("{channels: 3", "{chanels: 3"),
                  "/input/chanels is not a known key");
}

TEST(NetworkFile, KeysOfAnotherKindAreUnknown) {
  const std::string error = network_file_error_after("kind: relu}", "kind: relu, kernel: 3}");
  expect_contains(error, "layer \"left\": kernel is not a known key");
  expect_contains(error, "Allowed: name, kind, from.");
}

TEST(NetworkFile, UnknownKindNamesTheNearest) {
  const std::string error = network_file_error_after("kind: relu", "kind: rellu");
  expect_contains(error, "layer \"left\": kind is \"rellu\"");
  expect_contains(error, "Did you mean \"relu\"?");
}

TEST(NetworkFile, UnknownLayerNamesTheNearest) {
  const std::string error = network_file_error_after("from: [left, right]", "from: [left, rigth]");
  expect_contains(error, "small.yaml: small: layer \"add\" reads \"rigth\", which is not a layer");
  expect_contains(error, "Did you mean \"right\"?");
}

TEST(NetworkFile, ShapeMismatchNamesBothShapes) {
  const std::string error =
      network_file_error_after("max_pooling, kernel: 1", "max_pooling, kernel: 2");
  expect_contains(error, "layer \"add\" joins 4 × 5 × 5 and 4 × 4 × 4, which differ in shape");
}

TEST(NetworkFile, KernelLargerThanItsInputIsRefused) {
  expect_contains(network_file_error_after("kernel: [3, 2]", "kernel: 12"),
                  "12 × 12 kernel, larger than its input 3 × 9 × 8 with pad 1");
}

TEST(NetworkFile, MissingAndWrongFieldsAreRefused) {
  expect_contains(network_file_error_after("out_channels: 4, ", ""),
                  "layer \"conv\": out_channels is missing");
  expect_contains(network_file_error_after("out_channels: 4", "out_channels: four"),
                  "not a whole number");
  expect_contains(network_file_error_after("out_channels: 4", "out_channels: -4"), "out of range");
  expect_contains(network_file_error_after("out_channels: 4", "out_channels: 4, bias: maybe"),
                  "true or false");
  expect_contains(network_file_error_after("kernel: 1, stride: 1", "kernel: 1"),
                  "stride is missing");
  expect_contains(network_file_error_after("kernel: [3, 2]", "kernel: [3, 2, 1]"),
                  "[height, width]");
  expect_contains(network_file_error_after("outputs: 10", "outputs: 99999999999"),
                  "not a whole number");
  expect_contains(network_file_error_after("channels: 3", "channels: 0"),
                  "/input/channels is \"0\"");
  expect_contains(network_file_error_after("name: left, ", ""), "/layers/1/name is missing");
}

ImageShape convolved(std::string_view fields) {
  const std::string text = test::replaced(small_network, "pad: 1, stride: 2}", fields);
  return network_file_load_text(text).layers()[1].output;
}

TEST(NetworkFile, ConvolutionsMayDifferInBothDirections) {
  EXPECT_EQ(convolved("pad: 1, stride: 2, dilation: 1}"), (ImageShape{4, 5, 5}));
  EXPECT_EQ(convolved("pad: 1, stride: 2, dilation: 2}"), (ImageShape{4, 4, 4}));  // 11-5, 10-3
  EXPECT_EQ(convolved("pad: [0, 3], stride: [1, 2]}"), (ImageShape{4, 7, 7}));     // 9-3, 14-2
  expect_contains(network_file_error_after("pad: 1, stride: 2}", "pad: 0, dilation: 5}"),
                  "11 × 6 kernel, larger than its input 3 × 9 × 8 with pad 0");
  expect_contains(network_file_error_after("pad: 1, stride: 2}", "pad: [1, 2, 3]}"),
                  "[height, width]");
}

TEST(NetworkFile, GraphsThatCannotBeTrainedAreRefused) {
  expect_contains(network_file_error_after("from: [left, right]", "from: [left, conv]"),
                  "layer \"right\" is read by no layer");
  expect_contains(network_file_error_after("name: right", "name: left"),
                  "layer \"left\" occurs twice");
  expect_contains(network_file_error_after("name: left", "name: input"),
                  "layer \"input\" occurs twice");
  expect_contains(network_file_error_after("from: [left, right]", "from: [left, left]"),
                  "\"left\" twice");
  expect_contains(network_file_error_after("from: [left, right]", "from: [left, fc]"),
                  "not a layer before it");
  expect_contains(network_file_error_after("  - {name: loss, kind: softmax_cross_entropy}\n", ""),
                  "\"fc\" is read by no layer");
  expect_contains(network_file_error_after("  - {name: pool, kind: global_average_pooling}\n"
                                           "  - {name: fc, kind: fully_connected, outputs: 10}\n",
                                           ""),
                  "takes one number a class");
}

TEST(NetworkFile, LayerAfterALossMustSayWhatItReads) {
  const std::string text = std::string(small_network) + "  - {name: late, kind: relu}\n";
  expect_contains(test::config_error([&] { (void)network_file_load_text(text); }),
                  "layer \"late\" reads \"loss\", which is a loss and has no output");
}

TEST(NetworkFile, LossesMustAgreeOnTheClasses) {
  const std::string text = std::string(small_network) +
                           "  - {name: fc2, kind: fully_connected, outputs: 9, from: pool}\n"
                           "  - {name: loss2, kind: softmax_cross_entropy, loss_weight: 0.3}\n";
  expect_contains(test::config_error([&] { (void)network_file_load_text(text); }),
                  "\"loss2\" tells 9 classes apart and \"loss\" 10");
}

TEST(NetworkFile, AbsurdSizesAreRefusedInsteadOfOverflowing) {
  const std::string error =
      network_file_error_after("input: {channels: 3, height: 9, width: 8}",
                               "input: {channels: 1048576, height: 1048576, width: 1048576}");
  expect_contains(error, "absurdly large");
}

TEST(NetworkFile, UnknownNetworkListsTheNearestFirst) {
  expect_contains(test::config_error([] { (void)load_network("resnet5O"); }),
                  "has no \"resnet5O\". Did you mean \"resnet50\"? There is: resnet50,");
}

TEST(NetworkFile, NamesStandOnOneLine) {
  const std::string start = "network: x\ninput: {channels: 1, height: 1, width: 1}\nlayers:\n";
  const std::string fc = "  - {name: \"f\\nc\", kind: fully_connected, outputs: 2}\n";
  expect_contains(test::config_error([&] { (void)network_file_load_text(start + fc); }),
                  "is \"f\\nc\" (with a line break or another control character). Write a name");
  const std::string reads =
      "  - {name: fc, from: \"in\\nput\", kind: fully_connected, outputs: 2}\n";
  const std::string sentence =
      test::config_error([&] { (void)network_file_load_text(start + reads); });
  expect_contains(sentence, "reads \"in\\nput\", which is not a layer before it");
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
}

TEST(NetworkFile, AnythingThatIsNotANetworkIsAConfigError) {
  const std::vector<std::string> hostile{
      "",
      "\n\n",
      "42",
      "- 1\n- 2",
      "a: b: c",
      "{",
      "network: x",
      "\t\tx: 1",
      "&a [*a]",
      std::string(1, '\0'),
      "? {a: 1}: 2",
      "network: [x]\ninput: 3",
      "network: x\ninput: {}\nlayers: {}",
      "network: x\ninput: {channels: 1, height: 1, width: 1}\nlayers: []",
      "network: x\ninput: {channels: 1, height: 1, width: 1}\nlayers: [3]",
      "network: x\ninput: {channels: 1, height: 1, width: 1}\nlayers: [{name: }]"};
  for (const std::string& text : hostile) {
    EXPECT_THROW((void)network_file_load_text(text), ConfigError) << text;
  }
}

TEST(NetworkFile, EveryTruncationOfAFileIsRefusedOrAValidNetwork) {
  const std::string whole(small_network);
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    EXPECT_THROW((void)network_file_load_text(whole.substr(0, length)), ConfigError) << length;
  }
}

Layer pooled(ImageShape input, Pooling pooling) {
  return Network("pooled", input,
                 {{"pool", pooling, {"input"}},
                  {"fc", FullyConnected{2}, {"pool"}},
                  {"loss", SoftmaxCrossEntropy{}, {"fc"}}})
      .layer(LayerId(1));
}

TEST(PoolingShape, CeilModeAddsAWindowThatHangsOver) {
  const auto size = [](bool ceil_mode, int in, int pad) {
    return pooled({1, in, in}, {PoolingKind::max, 3, 3, 2, pad, ceil_mode}).output.height;
  };
  EXPECT_EQ(size(false, 112, 0), 55);
  EXPECT_EQ(size(true, 112, 0), 56);  // GoogLeNet pool1
  EXPECT_EQ(size(true, 113, 0), 56);  // fits exactly: no further window
  EXPECT_EQ(size(true, 14, 1), 8);    // window 7 starts at 13, the last element
  EXPECT_EQ(size(true, 3, 1), 2);
}

TEST(PoolingShape, EveryWindowHoldsAnElement) {
  for (int in = 1; in <= 12; ++in) {
    for (int kernel = 1; kernel <= in; ++kernel) {
      for (int stride = 1; stride <= 4; ++stride) {
        for (int pad = 0; pad < kernel; ++pad) {
          const Pooling pooling{PoolingKind::average, kernel, kernel, stride, pad, true};
          const int out = pooled({1, in, in}, pooling).output.height;
          const int last_start = (out - 1) * stride - pad;
          EXPECT_LT(last_start, in);
          EXPECT_GT(last_start + kernel + stride, in);  // and no element is left over
        }
      }
    }
  }
}

TEST(PoolingShape, PadAsLargeAsTheKernelIsRefused) {
  expect_contains(test::config_error([] {
                    (void)pooled({1, 8, 8}, {PoolingKind::max, 2, 2, 1, 2, false});
                  }),
                  "Pad must be smaller than the kernel");
}

TEST(ConvolutionShape, GroupsMustDivideTheChannels) {
  expect_contains(network_file_error_after("pad: 1", "pad: 1, groups: 2"), "into 2 groups");
}

}  // namespace
}  // namespace dlscale
