#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace dlscale::backend {

/// Type of the elements of a message.
enum class ElementType { f32, f64, bf16, f16, i32, i64, u8 };
inline constexpr std::array element_types{ElementType::f32, ElementType::f64, ElementType::bf16,
                                          ElementType::f16, ElementType::i32, ElementType::i64,
                                          ElementType::u8};
std::string_view to_string(ElementType type);  ///< "bf16"
std::size_t size_of(ElementType type);         ///< in bytes
/// The largest n such that all whole numbers from 0 to n are representable in this type.
double largest_whole(ElementType type);

/// Operation that combines the elements of all ranks.
enum class Reduction { sum, max, min };
inline constexpr std::array reductions{Reduction::sum, Reduction::max, Reduction::min};
std::string_view to_string(Reduction op);  ///< "sum"

/// Contiguous elements of one type, with any alignment. `value` is rounded to nearest, ties to
/// even. For integer types, `value` must be representable.
void write_element(ElementType type, double value, std::byte* to);
double read_element(ElementType type, const std::byte* from);

/// accumulated[i] = accumulated[i] op other[i]; both have the same length.
/// Integer sums wrap around. Sums of bf16 and f16 are computed in f32 and rounded to nearest, ties
/// to even; they overflow to infinity, as f32 and f64 do. A maximum or minimum with a NaN is a NaN;
/// of zeros of different sign the result is either one. (MPI leaves all of this to the library: a
/// NaN may or may not survive its MPI_MAX of f32.)
void combine(ElementType type, Reduction op, std::span<const std::byte> other,
             std::span<std::byte> accumulated);

}  // namespace dlscale::backend
