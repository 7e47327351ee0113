#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// How software computes, where frameworks differ: the properties that move the speed of training
/// more than the device does. Profiles in configs/frameworks state them.

/// Order of the dimensions of images in memory.
enum class ImageLayout { channels_first, channels_last };
inline constexpr std::array all_image_layouts{ImageLayout::channels_first,
                                              ImageLayout::channels_last};
std::string_view image_layout_name(ImageLayout layout);

/// Element-wise operations that join the kernel before them. The first three are about CNNs, the
/// last three about transformers.
enum class Elementwise {
  separate,   ///< none: a kernel each
  pointwise,  ///< those after other element-wise operations
  norm_act,   ///< batch norm also applies the ReLU and the sum after it
  all,        ///< whatever a compiler can fuse
  primitive,  ///< none, and norms and activations are made of single operators of a graph
  kernels,    ///< one kernel a norm, an activation or a softmax
  epilogue,   ///< biases and activations are applied inside the products
};
inline constexpr std::array all_elementwise{
    Elementwise::separate,  Elementwise::pointwise, Elementwise::norm_act, Elementwise::all,
    Elementwise::primitive, Elementwise::kernels,   Elementwise::epilogue};
std::string_view elementwise_name(Elementwise elementwise);

/// Kernels that update parameters.
enum class UpdateKernels {
  fused,   ///< a few for all tensors
  tensor,  ///< a few for each tensor
  ops,     ///< one for each operation of the optimiser on each tensor
};
inline constexpr std::array all_update_kernels{UpdateKernels::fused, UpdateKernels::tensor,
                                               UpdateKernels::ops};
std::string_view update_kernels_name(UpdateKernels kernels);

/// Use that an iteration makes of its gradients.
enum class Optimizer {
  none,        ///< nothing
  accumulate,  ///< adds them to those of before
  sgd,
  momentum,
  adam,
  lamb
};
inline constexpr std::array all_optimizers{Optimizer::none, Optimizer::accumulate,
                                           Optimizer::sgd,  Optimizer::momentum,
                                           Optimizer::adam, Optimizer::lamb};
std::string_view optimizer_name(Optimizer optimizer);
/// Numbers of f32 that an optimiser keeps for each parameter: 0 … 2.
int optimizer_states(Optimizer optimizer);

/// Tokens that a model of masked words decodes.
enum class DecodedTokens {
  masked,  ///< 15.6 % of a sequence, 20 at least
  all,
  none,  ///< it is tuned for another task, which has no vocabulary
};
inline constexpr std::array all_decoded_tokens{DecodedTokens::masked, DecodedTokens::all,
                                               DecodedTokens::none};
std::string_view decoded_tokens_name(DecodedTokens head);

/// How algorithms of convolutions are chosen.
enum class AlgorithmSearch {
  exhaustive,  ///< by timing them
  heuristic,   ///< by the library, in a small workspace: it may miss the fast ones
  direct,      ///< never minimal filtering, nor tensor cores: what a heuristic may find
};
inline constexpr std::array all_algorithm_searches{
    AlgorithmSearch::exhaustive, AlgorithmSearch::heuristic, AlgorithmSearch::direct};
std::string_view algorithm_search_name(AlgorithmSearch search);

/// Properties of the training of one kind of network in one precision. The values here are what
/// frameworks do unless somebody asks for something else (usual_traits()).
struct ComputeTraits {
  bool stated = false;  ///< a profile states them; else they are the usual ones
  std::optional<ImageLayout> layout = ImageLayout::channels_first;  ///< absent: unknown
  std::optional<Elementwise> elementwise = Elementwise::separate;   ///< absent: unknown
  UpdateKernels update = UpdateKernels::tensor;
  Optimizer optimizer = Optimizer::momentum;
  AlgorithmSearch search = AlgorithmSearch::exhaustive;
  DecodedTokens head = DecodedTokens::masked;
  double libraries = 2020.5;       ///< year of the vendor's libraries, as 2019.5
  bool float_math = false;         ///< in 16 bits, element-wise tensors keep four bytes
  bool fused_attention = false;    ///< scores stay out of memory
  bool master_weights = true;      ///< in 16 bits, weights are also kept in f32
  bool frozen_norm = false;        ///< batch norms use statistics from before, as in inference
  bool input_gradient = false;     ///< the first layer also computes the gradient of its input
  bool first_1x1_strided = false;  ///< blocks of ResNets stride in their first 1×1 convolution
  /// Share of padded tokens that is computed, where computed_tokens() says so.
  double tokens = 1;
  int tokens_of_sequence = 0;  ///< only in sequences of that many tokens; 0: of any number
  int tokens_from_batch = 0;   ///< only in mini-batches of at least as many sequences
  bool operator==(const ComputeTraits&) const = default;
};

/// Kinds of networks: a transformer has a layer of attention.
enum class NetworkFamily { cnn, transformer };
/// Precisions of activations: f32 and tf32, or f16 and bf16.
enum class ElementWidth { four_bytes, two_bytes };

/// The traits of software that nobody describes: eager PyTorch as its documentation has it, with
/// momentum for CNNs and Adam for transformers.
ComputeTraits usual_traits(NetworkFamily family);

/// Share of the padded tokens of sequences that the software computes, for sequences of `tokens`
/// and a mini-batch of `batch`: 1 unless it leaves padding out.
double computed_tokens(const ComputeTraits& traits, int tokens, int batch);

/// A network and the precision that it is trained in.
struct NetworkInPrecision {
  NetworkFamily family = NetworkFamily::cnn;
  ElementWidth width = ElementWidth::four_bytes;
  std::string_view name = {};
};

/// Traits of software for some networks and precisions.
struct ComputeRow {
  /// Phrases in the names of software that the row is about, with * for anything in between; empty:
  /// all that its profile is about.
  std::vector<std::string> match = {};
  NetworkFamily networks = NetworkFamily::cnn;
  std::string network = {};                ///< part of the network's name; empty: any
  std::optional<ElementWidth> width = {};  ///< absent: any
  ComputeTraits traits = {};
  std::string source = {};  ///< title of a document; or repository, file and version
};

/// Whether a row is about a network. Letters and digits of names count, in any case.
bool is_about(const ComputeRow& row, const NetworkInPrecision& network);

/// The traits of the first row that is about such a training, whatever its match; the usual ones if
/// there is none.
ComputeTraits traits_of(const std::vector<ComputeRow>& rows, const NetworkInPrecision& network);

}  // namespace dlscale
