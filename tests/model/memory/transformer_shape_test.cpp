#include <gtest/gtest.h>

#include <string>

#include "core/network/network.hpp"
#include "model/memory/transformer_shape.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model::memory {
namespace {

TEST(TransformerShape, HasTheParametersOfItsNetwork) {
  for (const char* name : {"gpt2", "gpt2_xl", "gpt3_175b", "llama2_7b", "llama2_70b", "llama3_8b",
                           "llama3_70b", "llama3_405b", "mixtral_8x7b"}) {
    const Network network = load_network(name);
    const auto counted = static_cast<double>(network.parameter_count());
    EXPECT_NEAR(parameters(transformer_shape(network)) / counted, 1, 0.003) << name;
  }
}

TEST(TransformerShape, ReadsTheSizesOfALlama) {
  const TransformerShape shape = transformer_shape(load_network_for("llama3_70b", 4096));
  EXPECT_EQ(shape.layers, 80);
  EXPECT_EQ(shape.hidden, 8192);
  EXPECT_EQ(shape.heads, 64);
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(shape.head_width, 128);
  EXPECT_EQ(shape.ffn, 28672);
  EXPECT_EQ(shape.vocabulary, 128256);
  EXPECT_EQ(shape.sequence, 4096);
  EXPECT_TRUE(shape.gated);
  EXPECT_FALSE(shape.tied_embeddings);
}

TEST(TransformerShape, ReadsExpertsAndTiedTables) {
  const TransformerShape mixtral = transformer_shape(load_network("mixtral_8x7b"));
  ASSERT_TRUE(mixtral.experts.has_value());
  EXPECT_EQ(mixtral.experts->count, 8);
  EXPECT_EQ(mixtral.experts->active, 2);
  EXPECT_EQ(mixtral.experts->ffn, 14336);
  const TransformerShape gpt2 = transformer_shape(load_network("gpt2"));
  EXPECT_TRUE(gpt2.tied_embeddings);
  EXPECT_FALSE(gpt2.gated);
  EXPECT_EQ(gpt2.positions, 1024);
}

TEST(TransformerShape, RefusesOtherNetworks) {
  for (const char* name : {"resnet50", "bert_large", "t5_base"}) {
    const std::string message =
        dlscale::test::config_error([&] { (void)transformer_shape(load_network(name)); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace dlscale::model::memory
