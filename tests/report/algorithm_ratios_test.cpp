#include "report/kernels/algorithm_ratios.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using Results = std::vector<ResultFile>;

Measurement row(const std::string& layer, const std::string& backend, const std::string& algorithm,
                double seconds, const std::string& pass = "forward") {
  Measurement made = samples::algorithm(
      {.backend = backend, .algorithm = algorithm, .pass = pass, .seconds = seconds});
  made.axes["layer"] = layer;
  return made;
}

Measurement at(Measurement measurement, const std::string& kernel) {
  measurement.axes["kernel"] = kernel;
  return measurement;
}

Results winograd() {
  return {samples::file(
      "conv", {row("a", "onednn", "winograd", 2.0), row("a", "onednn", "direct", 4.0),
               row("a", "native", "winograd_f4", 1.6), row("a", "native", "winograd_f4_fused", 1.0),
               row("b", "onednn", "winograd", 1.0), row("b", "native", "winograd_f4", 2.0),
               row("c", "native", "winograd_f4", 1.0), row("d", "onednn", "winograd", 1.0)})};
}

TEST(WinogradRatios, AreOfTheBetterOfOursWhereBothRan) {
  const Table table = winograd_ratios(winograd());
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(cell(table, 0, "layer"), "vgg16 a");
  EXPECT_EQ(cell(table, 0, "ours / oneDNN Winograd"), "0.500");
  EXPECT_EQ(cell(table, 0, "ours / oneDNN direct"), "0.250");
  EXPECT_EQ(cell(table, 1, "ours / oneDNN Winograd"), "2.00");
  EXPECT_EQ(cell(table, 1, "ours, fused ms"), "–");
  EXPECT_EQ(cell(table, 1, "ours / oneDNN direct"), "–");
}

TEST(WinogradSummary, HasTheMeanTheLargestAndWhere) {
  const Table table = winograd_summary(winograd());
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, 0, "layers"), "2");
  EXPECT_EQ(cell(table, 0, "geometric mean"), "1.00");  // √(0.5 · 2)
  EXPECT_EQ(cell(table, 0, "largest"), "2.00");
  EXPECT_EQ(cell(table, 0, "at"), "b");
  EXPECT_EQ(cell(table, 0, "ahead at"), "1");
  EXPECT_EQ(cell(table, 0, "ours / oneDNN direct"), "0.250");
}

TEST(WinogradSummary, IsNotAheadWithinTheIntervals) {
  Results results = winograd();
  for (Measurement& each : results.front().measurements) {
    const double time = each.at("time").summary.median;
    each.series["time"] = make_series("s", {{0.5 * time, time, 1.5 * time}});
  }
  const Table table = winograd_summary(results);
  EXPECT_EQ(cell(table, 0, "largest"), "2.00");
  EXPECT_EQ(cell(table, 0, "ahead at"), "0");  // 0.5 to 1.5 s by ours, 1 to 3 s by oneDNN's
  EXPECT_EQ(cell(winograd_ratios(results), 0, "ours / oneDNN Winograd"), "0.500 (tie)");
}

TEST(WinogradSummary, KeepsBatchesApart) {
  Results results = winograd();
  ResultFile other = results.front();
  for (Measurement& each : other.measurements) each.axes["batch"] = "32";
  results.push_back(other);
  EXPECT_EQ(winograd_summary(results).rows.size(), 2);
  EXPECT_TRUE(winograd_summary({}).rows.empty());
  EXPECT_TRUE(winograd_summary({}).notes.empty());
}

TEST(FourierRatios, AreAgainstTheFastestOtherAtLargeFilters) {
  const std::string large = "convolution c64 h64 w64 k128 r9 s9 stride1 pad0 groups1";
  const Results results{samples::file(
      "conv",
      {at(row("L2", "native", "fft", 1.0), large), at(row("L2", "native", "fft_tiled", 0.5), large),
       at(row("L2", "native", "fft_kept_filters", 0.1), large),
       at(row("L2", "native", "im2col", 3.0), large), at(row("L2", "onednn", "direct", 2.0), large),
       row("small", "native", "fft", 1.0), row("small", "onednn", "direct", 2.0)})};
  const Table table = fourier_ratios(results);
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, 0, "layer"), "vgg16 L2");
  EXPECT_EQ(cell(table, 0, "FFT"), "fft_tiled");
  EXPECT_EQ(cell(table, 0, "fastest other"), "onednn direct");
  EXPECT_EQ(cell(table, 0, "other / FFT"), "4.00");
}

/// Such as a list may name, whose key says more than a layer has.
TEST(FourierRatios, LeaveOutWhatNoLayerCanBe) {
  Measurement refused = at(row("oblong", "native", "chosen", 1.0),
                           "convolution c64 h64 w64 k128 r9 s9 stride1x2 pad0 groups1");
  refused.status = Status::unsupported;
  refused.series.clear();
  refused.axes["algorithm"] = std::string("fft");
  EXPECT_TRUE(fourier_ratios(Results{samples::file("conv", {refused})}).rows.empty());
}

/// What training runs is measured as "chosen", too, and may be the very same.
TEST(FourierRatios, PoolWhatWasMeasuredOfOneImplementation) {
  const std::string large = "convolution c64 h64 w64 k128 r9 s9 stride1 pad0 groups1";
  const auto of_library = [&](const std::string& algorithm, const std::string& implementation,
                              double seconds) {
    Measurement made = at(row("L2", "onednn", algorithm, seconds), large);
    made.implementation = implementation;
    return made;
  };
  Measurement fft = at(row("L2", "native", "fft", 1.0), large);
  fft.implementation = "fft of 64 points";
  const auto table = [&](const Measurement& chosen) {
    return fourier_ratios(
        Results{samples::file("conv", {fft, of_library("direct", "jit:a", 2.0),
                                       of_library("winograd", "jit_wino", 2.5), chosen})});
  };
  EXPECT_EQ(cell(table(of_library("chosen", "jit:a", 2.2)), 0, "other / FFT"), "2.10");
  EXPECT_EQ(cell(table(of_library("chosen", "jit:b", 2.2)), 0, "other / FFT"), "2.00");
  const Table other = table(of_library("chosen", "jit_wino", 1.0));
  EXPECT_EQ(cell(other, 0, "fastest other"), "onednn winograd");
  EXPECT_EQ(cell(other, 0, "other / FFT"), "1.75 (tie)");  // from 1 to 2.5 s, and 1 s
}

TEST(FourierRatios, TakeThoseOfLibrariesForOthers) {
  const std::string large = "convolution c64 h64 w64 k128 r9 s9 stride1 pad0 groups1";
  const Results results{samples::file("conv", {at(row("L2", "native", "fft", 1.0), large),
                                               at(row("L2", "native", "fft_fftw", 0.8), large),
                                               at(row("L2", "onednn", "direct", 2.0), large)})};
  const Table table = fourier_ratios(results);
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, 0, "fastest other"), "native fft_fftw");
  EXPECT_EQ(cell(table, 0, "other / FFT"), "0.800");
}

/// conv4_2 of VGG-16. An image is three blocks of 8 rows, 224 pixels, and one of 4.
const std::string conv4 = "convolution c512 h28 w28 k512 r3 s3 stride1 pad1 groups1 bias";

Measurement product(const std::string& sizes, double columns, double seconds) {
  Measurement made = samples::timed("gemm",
                                    {{"kernel", "gemm " + sizes},
                                     {"backend", "onednn"},
                                     {"dtype", "f32"},
                                     {"threads", "1"},
                                     {"cache", "cold"},
                                     {"ranks", "1"},
                                     {"ranks_on_node", "1"}},
                                    std::vector<double>(5, seconds));
  made.work = Work{Flops(2.0 * 512 * columns * 4608), Bytes(1)};
  return made;
}

/// The products of forward: 12 of the larger and 4 of the smaller for four images, which take
/// 12 · 2 + 4 · 1.5 = 30 s.
std::vector<Measurement> forward_products() {
  return {product("m512 n224 k4608 ta0 tb0", 224, 2.0),
          product("m512 n112 k4608 ta0 tb0", 112, 1.5)};
}

Measurement lowered(double seconds, const std::string& pass) {
  Measurement made = at(row("conv4_2", "native", "im2col", seconds, pass), conv4);
  made.work = Work{Flops(4 * 2.0 * 512 * 784 * 4608), Bytes(1)};  // four images
  return made;
}

TEST(ProductShares, AreOfTheProductsAsTheyRun) {
  const Results results{samples::file("conv", {lowered(40.0, "forward")}),
                        samples::file("gemm", forward_products())};
  const Table table = product_shares(results);
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(table.rows.front().size(), table.columns.size());
  EXPECT_EQ(cell(table, 0, "products"), "16");
  EXPECT_EQ(cell(table, 0, "largest, m × n × k"), "512 × 224 × 4608");
  EXPECT_EQ(cell(table, 0, "of fastest"), "75.0 %");
  EXPECT_EQ(cell(table, 0, "of same call"), "–") << "these are of another library call";
  EXPECT_EQ(cell(table, 0, "of whole"), "–");
  EXPECT_TRUE(table.notes.front().starts_with(
      "of fastest: median 75.0 %, lowest 75.0 % at vgg16 conv4_2 forward; "))
      << table.notes.front();
}

/// As if the backend native had run them, from caches in that state.
std::vector<Measurement> by_native(std::vector<Measurement> products, const std::string& cache) {
  for (Measurement& each : products) {
    each.axes["backend"] = std::string("native");
    each.axes["cache"] = cache;
  }
  return products;
}

TEST(ProductShares, AreOfTheVeryCallThatIm2colMakesFromHotCaches) {
  std::vector<Measurement> products = forward_products();  // onednn, cold: 30 s
  std::vector<Measurement> hot = by_native(
      {product("m512 n224 k4608 ta0 tb0", 224, 2.5), product("m512 n112 k4608 ta0 tb0", 112, 2.5)},
      "hot");
  products.insert(products.end(), hot.begin(), hot.end());
  products.push_back(product("m512 n3136 k4608 ta0 tb0", 3136, 25.0));  // of all pixels
  const Results results{samples::file("conv", {lowered(50.0, "forward")}),
                        samples::file("gemm", products)};
  const Table table = product_shares(results);
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, 0, "of same call"), "80.0 %");  // 16 of 2.5 s
  EXPECT_EQ(cell(table, 0, "of fastest"), "60.0 %");
  EXPECT_EQ(cell(table, 0, "of whole"), "50.0 %");
  ASSERT_EQ(table.notes.size(), 3) << "nothing is missing";
  EXPECT_TRUE(table.notes[0].starts_with("of same call: median 80.0 %")) << table.notes[0];
  EXPECT_TRUE(table.notes[2].starts_with("of whole: median 50.0 %")) << table.notes[2];
}

TEST(ProductShares, OfTheSameCallNeedItsBackendAndHotCaches) {
  std::vector<Measurement> other = forward_products();
  for (Measurement& each : other) each.axes["cache"] = std::string("hot");
  for (const std::vector<Measurement>& products :
       {other, by_native(forward_products(), "cold"), by_native(forward_products(), "rotating")}) {
    const Table table = product_shares(Results{samples::file("conv", {lowered(40.0, "forward")}),
                                               samples::file("gemm", products)});
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      EXPECT_EQ(cell(table, i, "of same call"), "–");
    }
    EXPECT_TRUE(std::ranges::any_of(table.notes, [](const std::string& note) {
      return note.ends_with("by the call of im2col from hot caches: 512x112x4608,512x224x4608");
    }));
  }
}

TEST(ProductShares, OfSeveralThreadsAskForNoCallThatHasOne) {
  const auto with_threads = [](std::vector<Measurement> rows) {
    for (Measurement& each : rows) each.axes["threads"] = std::string("2");
    return rows;
  };
  const Results results{samples::file("conv", with_threads({lowered(40.0, "forward")})),
                        samples::file("gemm", with_threads(forward_products()))};
  const Table table = product_shares(results);
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, 0, "of fastest"), "75.0 %");
  for (const std::string& note : table.notes) {
    EXPECT_EQ(note.find("--backend native"), std::string::npos) << note;
  }
}

TEST(ProductShares, AreOfLayersThatAreLargeWithAllTheirImages) {
  // 7 × 7 pixels: 49 of an image, but 784 of 16; 4 MiB hold all patches of 4.
  const std::string late = "convolution c512 h7 w7 k512 r3 s3 stride1 pad1 groups1";
  const auto results = [&](const std::string& batch) {
    Measurement conv = at(row("late", "native", "im2col", 1.0), late);
    conv.axes["batch"] = batch;
    return Results{samples::file("conv", {conv})};
  };
  EXPECT_TRUE(product_shares(results("4")).notes.empty());
  const Table table = product_shares(results("16"));
  ASSERT_EQ(table.notes.size(), 2);
  EXPECT_TRUE(table.notes.front().ends_with(
      "by the call of im2col from hot caches: 512x196x4608"))
      << table.notes.front();
  EXPECT_TRUE(table.notes.back().ends_with("as the convolutions have them: 512x196x4608,512x784x4608"))
      << table.notes.back();
}

TEST(ProductShares, NameTheProductsThatAreMissing) {
  const Results results{
      samples::file("conv", {lowered(40.0, "forward"), lowered(40.0, "backward_data"),
                             lowered(40.0, "backward_filter")}),
      samples::file("gemm", forward_products())};
  const Table table = product_shares(results);
  EXPECT_EQ(table.rows.size(), 1);
  ASSERT_EQ(table.notes.size(), 3);
  EXPECT_TRUE(table.notes[1].ends_with(
      "by the call of im2col from hot caches: 4608x112x512:tn,4608x224x512:tn,"
      "512x112x4608,512x224x4608,512x4608x112:nt,512x4608x224:nt"))
      << table.notes[1];
  EXPECT_TRUE(table.notes.back().ends_with(
      "as the convolutions have them: 4608x112x512:tn,4608x224x512:tn,4608x3136x512:tn,512x3136x4608,"
      "512x4608x112:nt,512x4608x224:nt,512x4608x3136:nt"))
      << table.notes.back();
}

TEST(ProductShares, NeedAllProductsThatALayerRuns) {
  const Results results{samples::file("conv", {lowered(40.0, "forward")}),
                        samples::file("gemm", {forward_products().front()})};
  const Table table = product_shares(results);
  EXPECT_TRUE(table.rows.empty());
  ASSERT_EQ(table.notes.size(), 2);
  EXPECT_TRUE(table.notes.back().ends_with("as the convolutions have them: 512x112x4608,512x3136x4608"))
      << table.notes.back();
}

TEST(ProductShares, AreOfProductsUnderTheSameConditionAndLargeOnes) {
  const auto with = [](const std::string& axis, const std::string& value) {
    std::vector<Measurement> products = forward_products();
    for (Measurement& each : products) each.axes[axis] = value;
    return Results{samples::file("conv", {lowered(40.0, "forward")}),
                   samples::file("gemm", products)};
  };
  EXPECT_TRUE(product_shares(with("cache", "hot")).rows.empty());
  EXPECT_TRUE(product_shares(with("values", "zeros")).rows.empty());
  EXPECT_EQ(product_shares(with("values", "normal")).rows.size(), 1);
  const Results small{samples::file("conv", {row("conv1_2", "native", "im2col", 1.0)})};
  EXPECT_TRUE(product_shares(small).rows.empty());
  EXPECT_TRUE(product_shares(small).notes.empty());  // 64 outputs: no product of its kind is large
}

}  // namespace
}  // namespace dlscale::report
