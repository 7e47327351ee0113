#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/expression.hpp"
#include "core/network/network.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

constexpr std::string_view blocks_text = R"(network: blocks
with: {width: 8, copies: 3}
input: {channels: 3, height: 16, width: 16}
blocks:
  unit:
    with: {outputs: 2 * width, stride: 1}
    layers:
      - {name: conv, kind: convolution, out_channels: outputs, kernel: 3, pad: 1, stride: stride}
      - {name: norm, kind: batch_norm}
layers:
  - {name: stem, kind: convolution, out_channels: width, kernel: 1}
  - {block: first, of: unit, with: {outputs: 4 * (width - 1), stride: copies - 1}}
  - block: res
    repeat: copies
    layers:
      - {block: a, of: unit, with: {outputs: 28}}
      - {name: relu, kind: relu, from: a.norm}
      - {block: b, of: unit, with: {outputs: 28}}
      - {name: add, kind: sum, from: [before, b]}
  - {name: skip, kind: convolution, out_channels: 5, kernel: 1, from: first}
  - {name: both, kind: concat, from: [res, skip]}
  - {name: pool, kind: global_average_pooling}
  - {name: fc, kind: fully_connected, outputs: 10}
  - {name: loss, kind: softmax_cross_entropy}
)";

std::string blocks_error(std::string_view from, std::string_view to) {
  return test::error_after(blocks_text, from, to, load_network);
}

std::vector<std::string> inputs_named(const Network& network, std::string_view layer) {
  std::vector<std::string> names;
  for (const Layer& each : network.layers()) {
    if (each.name != layer) continue;
    for (const LayerId input : each.inputs) names.push_back(network.layer(input).name);
  }
  return names;
}

using Inputs = std::vector<std::string>;

TEST(LayerBlocks, AreWrittenOutUnderTheirNames) {
  const Network network = test::load_text(blocks_text, load_network);
  EXPECT_EQ(network.layers().size(), 1U + 1 + 2 + 3 * 6 + 5);
  EXPECT_EQ(network.layers()[2].name, "first.conv");
  EXPECT_EQ(network.layers()[2].output, (ImageShape{28, 8, 8}));
  EXPECT_EQ(inputs_named(network, "res0.a.conv"), Inputs{"first.norm"});
  EXPECT_EQ(inputs_named(network, "res0.relu"), Inputs{"res0.a.norm"});
  EXPECT_EQ(inputs_named(network, "res0.add"), (Inputs{"first.norm", "res0.b.norm"}));
  EXPECT_EQ(inputs_named(network, "res2.add"), (Inputs{"res1.add", "res2.b.norm"}));
  EXPECT_EQ(inputs_named(network, "skip"), Inputs{"first.norm"});
  EXPECT_EQ(inputs_named(network, "both"), (Inputs{"res2.add", "skip"}));
}

TEST(LayerBlocks, ErrorsNameBlockAndCopy) {
  expect_contains(blocks_error("kind: relu, from: a.norm", "kind: relu, from: a.nrom"),
                  "layer \"res0.relu\" reads \"a.nrom\", which is not a layer before it");
  expect_contains(blocks_error("add, kind: sum", "add, kind: smu"),
                  "block \"res\": layer \"add\": kind is \"smu\"");
  expect_contains(blocks_error("{block: b, of: unit, with: {outputs: 28}}",
                               "{block: b, of: unit, with: {outputs: 27}}"),
                  "layer \"res0.add\" joins 28 × 8 × 8 and 27 × 8 × 8");
  expect_contains(
      blocks_error("first, of: unit", "first, of: untit"),
      "block \"first\": of is \"untit\" (not a block that the file defines). Did you mean "
      "\"unit\"?");
  expect_contains(
      blocks_error("repeat: copies", "repeat: copies - 3"),
      "block \"res\": repeat is \"copies - 3\", that is 0. Write a whole number from 1");
  expect_contains(blocks_error("copies: 3", "copies: 9999"), "more than 20000 layers");
  expect_contains(test::config_error([] {
                    (void)test::load_text(
                        "network: large\ninput: {channels: 100000, height: 300, width: 300}\n"
                        "layers:\n  - {block: b, repeat: 9999, layers: [{name: c, kind: "
                        "convolution, out_channels: 100000, kernel: 1}]}\n  - {name: loss, kind: "
                        "token_cross_entropy}\n",
                        load_network);
                  }),
                  "all 10001 layers together are absurdly large");
  expect_contains(blocks_error("{block: first, of: unit, with: {outputs",
                               "{block: first, of: unit, with: {output"),
                  "output is not a known key. Did you mean \"outputs\"?");
  expect_contains(blocks_error("{name: norm, kind: batch_norm}", "{block: again, of: unit}"),
                  "nested too deep");
  expect_contains(blocks_error("first, of: unit, with", "first, with"),
                  "block \"first\" needs either \"of\"");
}

TEST(LayerBlocks, NumbersAreExpressions) {
  const NamedNumbers names{{"width", 6}, {"heads", 3}};
  EXPECT_EQ(evaluate("4 * width", names), 24);
  EXPECT_EQ(evaluate("width/heads", names), 2);
  EXPECT_EQ(evaluate(" 2 * (width - heads) + 1 ", names), 7);
  EXPECT_EQ(evaluate("12 - 2 - 3", names), 7);
  const auto problem = [&](std::string_view text) {
    return test::config_error([&] { (void)evaluate(text, names); });
  };
  expect_contains(problem("4 * widht"), "\"widht\" is not a parameter. Did you mean \"width\"?");
  expect_contains(problem("7 / 2"), "7 / 2 is not whole.");
  expect_contains(problem("7 / (heads - 3)"), "7 / 0 is not whole.");
  expect_contains(problem("width heads"), "\"heads\" is left over.");
  expect_contains(problem("(width"), "a parenthesis is not closed.");
  expect_contains(problem("width *"), "a number or a name is missing.");
  expect_contains(problem("2147483648 * 2"), "it exceeds 2^31.");
  expect_contains(problem(std::string(1000, '(')), "too many parentheses.");
  expect_contains(blocks_error("out_channels: width", "out_channels: widht"),
                  "layer \"stem\": out_channels is \"widht\": \"widht\" is not a parameter.");
}

TEST(LayerBlocks, ANetworkIsLikeAnotherWithOtherNumbers) {
  const test::TemporaryFolder folder;
  const std::string other = folder.write("blocks.yaml", blocks_text).string();
  const auto load = [&](const std::string& rest) {
    const std::string text = "network: wide\nlike: " + other + "\n" + rest;
    return load_network(folder.write("wide.yaml", text).string());
  };
  EXPECT_EQ(load("with: {width: 8}\n").layers().size(), 27U);
  const Network wide = load("with: {copies: 2}\n");
  EXPECT_EQ(wide.name(), "wide");
  EXPECT_EQ(wide.layers().size(), 21U);
  const auto refused = [&](const std::string& rest) {
    return test::config_error([&] { (void)load(rest); });
  };
  expect_contains(refused("with: {widht: 8}\n"),
                  "widht is not a known key. Did you mean \"width\"?");
  expect_contains(refused("layers: []\n"), "layers stands beside like");
}

TEST(LayerBlocks, ANetworkIsNotLikeItself) {
  const test::TemporaryFolder folder;
  const std::string one = (folder / "one.yaml").string();
  const std::string other = (folder / "other.yaml").string();
  const auto refused = [&](const std::string& like) {
    folder.write("other.yaml", "network: other\nlike: " + one + "\n");
    folder.write("one.yaml", "network: one\nlike: " + like + "\n");
    return test::config_error([&] { (void)load_network(one); });
  };
  expect_contains(refused(one), "this network itself");
  expect_contains(refused(other), "Name a network whose file has layers.");
}

TEST(LayerBlocks, NumbersHaveNamesThatExpressionsCanUse) {
  EXPECT_TRUE(is_number_name("kv_heads2"));
  for (const char* name : {"", "8", "8x", "kv-heads", "ä"}) EXPECT_FALSE(is_number_name(name));
  expect_contains(blocks_error("{width: 8,", "{8: 3, width: 8,"),
                  "has a name that no expression could use");
}

TEST(LayerBlocks, TheLengthOfSequencesMayBeChosen) {
  const test::TemporaryFolder folder;
  const std::string file = folder
                               .write("small.yaml", R"(network: small
with: {tokens: 16}
input: {tokens: tokens}
layers:
  - {name: word, kind: embedding, rows: 10, outputs: 6}
  - {name: decoder, kind: linear, outputs: 10}
  - {name: loss, kind: token_cross_entropy}
)")
                               .string();
  EXPECT_EQ(load_network(file).input().height, 16);
  EXPECT_EQ(load_network_for(file, 0).input().height, 16);
  EXPECT_EQ(load_network_for(file, 5).input().height, 5);
  expect_contains(test::config_error([] { (void)load_network_for("alexnet", 5); }),
                  "alexnet has no sequences whose length could be 5");
}

TEST(LayerBlocks, RefuseInputsThatDoubleAtEachLevel) {
  std::string inner = "{name: add, kind: sum, from: [before]}";
  for (int level = 0; level < 40; ++level) {
    inner =
        "{block: b" + std::to_string(level) + ", from: [before, before], layers: [" + inner + "]}";
  }
  const std::string text =
      "network: doubled\ninput: {channels: 3, height: 8, width: 8}\nlayers: [" +
      ("{name: c, kind: convolution, out_channels: 4, kernel: 1}, " + inner) + "]\n";
  expect_contains(test::config_error([&] { test::load_text(text, load_network); }),
                  "it reads more than 1000 outputs");
}

}  // namespace
}  // namespace dlscale
