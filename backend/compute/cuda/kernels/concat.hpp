#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// Most pieces that one kernel moves.
inline constexpr int most_pieces = 16;

/// Joins the rows of several matrices into rows of one, or splits them. A unit is 1 to 16 bytes
/// that are contiguous in all matrices; sizes are in units.
template <class Unit>
struct JoinedRows {
  struct Piece {
    std::byte* data;
    Divisor units;              ///< units per row of the piece
    std::uint32_t first_unit;   ///< first unit in a row of the whole
    std::uint32_t last_thread;  ///< one past the last thread of this piece
  };
  enum class Direction { join, cut };

  Piece pieces[most_pieces];
  std::byte* whole;
  std::uint32_t whole_units;  ///< units per row of the whole
  Direction direction;

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    int at = 0;
    while (thread >= pieces[at].last_thread) ++at;
    const std::uint32_t first_thread = at == 0 ? 0 : pieces[at - 1].last_thread;
    const Piece& piece = pieces[at];
    const auto [row, unit] = piece.units.split(thread - first_thread);
    auto* in_piece = reinterpret_cast<Unit*>(piece.data) + (thread - first_thread);
    auto* in_whole =
        reinterpret_cast<Unit*>(whole) + std::uint64_t{row} * whole_units + piece.first_unit + unit;
    if (direction == Direction::join) {
      *in_whole = *in_piece;
    } else {
      *in_piece = *in_whole;
    }
  }
};

/// Concatenates the channels of the inputs. In nhwc order a row is a pixel, in nchw order an image.
template <class Launcher>
class ConcatOperation final : public OwnOperation {
 public:
  ConcatOperation(Launcher launcher, const OperationSpec& spec, Order order)
      : OwnOperation(spec, order, "concat"), launcher_(std::move(launcher)) {
    const auto& [images, channels, height, width] = output().dims;
    rows_ = order == Order::nhwc ? images * height * width : images;
    for (const TensorDesc& input : spec.inputs) {
      row_bytes_.push_back(static_cast<std::int64_t>(input.layout.bytes) / rows_);
    }
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    const bool forward = pass == Pass::forward;
    const auto pieces = forward ? operands.inputs : operands.input_gradients;
    std::byte* whole = forward ? operands.output.data : operands.output_gradient.data;
    std::int64_t unit = 16;
    for (const std::int64_t bytes : row_bytes_) unit = std::gcd(unit, bytes);
    for (const Tensor& piece : pieces) unit = std::gcd(unit, address(piece.data));
    unit = std::gcd(unit, address(whole));
    if (unit == 16) return move<Pack<std::uint32_t, 4>>(pass, pieces, whole);
    if (unit == 8) return move<std::uint64_t>(pass, pieces, whole);
    if (unit == 4) return move<std::uint32_t>(pass, pieces, whole);
    EXPECT(unit == 2);
    move<std::uint16_t>(pass, pieces, whole);
  }

 private:
  static std::int64_t address(const std::byte* data) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
  }

  template <class Unit>
  void move(Pass pass, std::span<const Tensor> pieces, std::byte* whole) const {
    const std::int64_t whole_bytes =
        std::accumulate(row_bytes_.begin(), row_bytes_.end(), std::int64_t{0});
    std::int64_t first_byte = 0;
    for (std::size_t first = 0; first < pieces.size(); first += most_pieces) {
      JoinedRows<Unit> rows{};
      rows.whole = whole;
      rows.whole_units = units<Unit>(whole_bytes);
      rows.direction = pass == Pass::forward ? JoinedRows<Unit>::Direction::join
                                             : JoinedRows<Unit>::Direction::cut;
      std::int64_t threads = 0;
      for (std::size_t i = first; i < std::min(first + most_pieces, pieces.size()); ++i) {
        threads += rows_ * units<Unit>(row_bytes_[i]);
        rows.pieces[i - first] = {pieces[i].data, Divisor(units<Unit>(row_bytes_[i])),
                                  units<Unit>(first_byte), static_cast<std::uint32_t>(threads)};
        first_byte += row_bytes_[i];
      }
      launcher_.each("concat", rows, threads);
    }
  }

  template <class Unit>
  static std::uint32_t units(std::int64_t bytes) {
    return static_cast<std::uint32_t>(bytes / static_cast<std::int64_t>(sizeof(Unit)));
  }

  Launcher launcher_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> row_bytes_;
};

}  // namespace dlscale::backend::cuda
