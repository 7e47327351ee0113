#pragma once
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "model/parallel/parts/part_memory.hpp"
#include "model/sgd_iter/kernels/layer_memory.hpp"

namespace dlscale::model {

/// A training of square images in f32 by SGD with momentum, as far as memory depends on it.
struct ImageTraining {
  int stages = 1;                  ///< of the pipeline, ≥ 1
  std::string schedule = "gpipe";  ///< a name of core/parallel/schedule/family.hpp
  int micro_batch = 1;             ///< images, ≥ 1
  int micro_batches = 1;           ///< ≥ 1; two or more for GEMS's two copies of the network
  /// Strips of rows into which every image is cut, a rank each, ≥ 1; more than 1 requires one
  /// stage. [spatial parallelism: OSU-Nowlab/MPI4DL]
  int strips = 1;
};

/// The first layer whose weights depend on the rows of images, as of one that reads all pixels;
/// nullptr if none.
const Layer* layer_of_all_pixels(const Network& network);

/// The same network for images of other sizes. Throws ConfigError if they are too small for a
/// layer, or weights depend on the size, as of layers that read all pixels.
Network with_size(const Network& network, int height, int width);
Network with_side(const Network& network, int side);  ///< of square images

/// Rows above and below one row of the output that a layer reads to make it: (R - 1)/2 of a filter
/// of R rows.
int rows_beside(const Layer& layer);
/// Rows of a neighbouring strip that readers of a layer's output want; a ReLU hands its readers'
/// wishes on.
int halo_rows(const Network& network, LayerId id);

/// Rows of a map of `height` > 0 that a rank keeps, of `strips` ≥ 1 that share it: its own, and
/// `halo` ≥ 0 of each neighbour (two, or one where there are two strips), at most all.
double kept_rows(double height, int strips, int halo);

/// Memory of a network for images of any side. A class, because a network of a thousand layers
/// takes long to count. Outputs are taken to grow with the pixels, which is exact for sides that
/// all strides of the network divide.
class ImageMemory {
 public:
  /// Throws ConfigError as with_side() does.
  explicit ImageMemory(const Network& network);

  /// Memory of the rank that needs most, by the rules of PartMemory, of the stages that share
  /// memory most evenly. A strip keeps its rows of every output, and those of its neighbours that a
  /// filter reads ("halo"): (R - 1)/2 rows on each side with another strip, for the largest filter
  /// of R rows that reads the output. Throws ConfigError for a schedule that the shape does not
  /// fit.
  [[nodiscard]] Bytes need(const ImageTraining& training, int side) const;
  /// The largest side, a multiple of `step` ≥ 1 up to 32,768, that fits; 0 if none.
  [[nodiscard]] int largest_side(const ImageTraining& training, Bytes memory, int step) const;
  /// The most images of a micro-batch that fit, up to 65,536; 0 if none.
  [[nodiscard]] int largest_micro_batch(ImageTraining training, int side, Bytes memory) const;

 private:
  [[nodiscard]] Bytes of_stages(const ImageTraining& training, double ratio) const;
  [[nodiscard]] Bytes of_strip(const ImageTraining& training, int side) const;

  Network network_;  ///< for images of a side that large strides divide
  LayerSums sums_;   ///< of one image
  std::vector<LayerElements> elements_;
  std::vector<double> gradients_;  ///< bytes, by layer
  std::vector<int> halo_;          ///< rows of a neighbour, by layer
};

}  // namespace dlscale::model
