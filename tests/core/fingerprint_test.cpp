#include "core/network/fingerprint.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/config/config_path.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

constexpr std::string_view every_field = R"(network: small
input: {channels: 4, height: 8, width: 8}
layers:
  - {name: conv, kind: convolution, out_channels: 4, kernel: 3, pad: 1, stride: 1, groups: 1, bias: true}
  - {name: norm, kind: batch_norm, epsilon: 0.5}
  - {name: lrn, kind: lrn, size: 3, alpha: 0.5, beta: 0.75, k: 2}
  - {name: drop, kind: dropout, probability: 0.25, from: norm}
  - {name: add, kind: sum, from: [lrn, drop]}
  - {name: pool, kind: max_pooling, kernel: 3, stride: 2, pad: 1, ceil_mode: false}
  - {name: fc, kind: fully_connected, outputs: 10, bias: true}
  - {name: loss, kind: softmax_cross_entropy, loss_weight: 0.5}
)";

std::string of_text(const std::string& text) {
  const test::TemporaryFolder folder;
  return fingerprint(load_network(folder.write("small.yaml", text).string()));
}

std::string after(std::string_view from, std::string_view to) {
  return of_text(test::replaced(every_field, from, to));
}

TEST(Fingerprint, ChangesWithEveryFieldOfALayer) {
  std::set<std::string> seen{of_text(std::string(every_field))};
  std::size_t count = 1;
  for (const auto& [from, to] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"channels: 4, height", "channels: 8, height"},
           {"height: 8", "height: 9"},
           {"out_channels: 4", "out_channels: 8"},
           {"kernel: 3, pad: 1, stride: 1", "kernel: 5, pad: 2, stride: 1"},
           {"kernel: 3, pad: 1, stride: 1", "kernel: [1, 3], pad: 0, stride: 1"},
           {"stride: 1", "stride: 2"},
           {"groups: 1", "groups: 2"},
           {"bias: true}\n  - {name: norm", "bias: false}\n  - {name: norm"},
           {"epsilon: 0.5", "epsilon: 0.25"},
           {"size: 3", "size: 5"},
           {"alpha: 0.5", "alpha: 0.25"},
           {"beta: 0.75", "beta: 0.5"},
           {"k: 2", "k: 1"},
           {"probability: 0.25", "probability: 0.5"},
           {"from: norm", "from: lrn"},
           {"from: [lrn, drop]", "from: [drop, lrn]"},
           {"kind: sum", "kind: concat"},
           {"kind: max_pooling", "kind: average_pooling"},
           {"ceil_mode: false", "ceil_mode: true"},
           {"outputs: 10", "outputs: 11"},
           {"loss_weight: 0.5", "loss_weight: 1"}}) {
    seen.insert(after(from, to));
    EXPECT_EQ(seen.size(), ++count) << from << " → " << to;
  }
}

TEST(Fingerprint, DoesNotDependOnNamesAndLayout) {
  const std::string original = of_text(std::string(every_field));
  EXPECT_EQ(after("network: small", "network: other\ndoc: words"), original);
  EXPECT_EQ(after("name: conv", "name: first"), original);
  EXPECT_EQ(after("kind: lrn, size: 3", "size: 3, kind: lrn"), original);
  EXPECT_EQ(after("from: norm}", "from: [norm]}   # a comment"), original);
}

TEST(Fingerprint, IsTheHashOfItsDescription) {
  // FNV-1a, by another program, of "input c2 h1 w1 from\nfully_connected c2 h1 w1 outputs3 bias
  // from 0\nsoftmax_cross_entropy c3 h1 w1 loss_weight1 from 1\n".
  const std::string text =
      "network: x\ninput: {channels: 2, height: 1, width: 1}\nlayers:\n"
      "  - {name: fc, kind: fully_connected, outputs: 3}\n"
      "  - {name: loss, kind: softmax_cross_entropy}\n";
  EXPECT_EQ(of_text(text), "3839ad526eb18775");
}

TEST(Fingerprint, TellsAllConfiguredNetworksApart) {
  std::set<std::string> seen;
  for (const std::string& name : config_names("networks")) {
    EXPECT_TRUE(seen.insert(fingerprint(load_network(name))).second) << name;
  }
}

}  // namespace
}  // namespace dlscale
