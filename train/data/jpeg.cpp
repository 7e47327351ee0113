#include "train/data/jpeg.hpp"

// jpeglib.h needs size_t and FILE declared.
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <array>
#include <csetjmp>
#include <cstdlib>

#include "core/base/error.hpp"

// Four-byte pixels are an extension of libjpeg-turbo, which every current distribution ships.
#ifndef JCS_EXTENSIONS
#error "dlscale needs libjpeg-turbo (Debian and Ubuntu: libjpeg62-turbo-dev or libjpeg-turbo8-dev)"
#endif

// The version is a bare word, 2.1.5.
#define DLSCALE_TEXT_OF(word) #word
#define DLSCALE_TEXT(macro) DLSCALE_TEXT_OF(macro)

namespace dlscale::train {
namespace {

/// Largest picture that is accepted, in pixels: a file of a few hundred bytes can claim 65500 ×
/// 65500.
constexpr double max_pixels = 1e8;

/// libjpeg reports errors through callbacks that must not return. Exceptions cannot cross its C
/// frames, so the callbacks jump.
struct ErrorState {
  jpeg_error_mgr manager;  // first: libjpeg passes a pointer to it
  std::jmp_buf jump;
  std::array<char, JMSG_LENGTH_MAX> message;
};

[[noreturn]] void jump_out(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  info->err->format_message(info, state->message.data());
  std::longjmp(state->jump, 1);  // NOLINT(cert-err52-cpp,modernize-avoid-setjmp-longjmp)
}

bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_JFIF_MAJOR || warning == JWRN_BOGUS_ICC;
}

/// Throws on warnings, which have negative levels. Other levels are traces.
void refuse_damage(j_common_ptr info, int level) {
  if (level < 0 && !is_harmless(info->err->msg_code)) jump_out(info);
}

void print_nothing(j_common_ptr) {}

jpeg_error_mgr* install(ErrorState& state) {
  jpeg_std_error(&state.manager);
  state.manager.error_exit = jump_out;
  state.manager.emit_message = refuse_damage;
  state.manager.output_message = print_nothing;
  return &state.manager;
}

/// Runs `work` and turns a jump into an exception. `work` must own nothing that a jump would leak.
template <class Work>
void guard(ErrorState& state, const Work& work) {
  if (setjmp(state.jump) != 0) throw JpegError(state.message.data());  // NOLINT(cert-err52-cpp)
  work();
}

/// Converts CMYK to RGB. Adobe's files hold inverted values, where 255 means no ink.
void cmyk_to_rgb(std::span<std::uint8_t> pixels, bool inverted) {
  for (std::size_t i = 0; i + 3 < pixels.size(); i += 4) {
    const int black = inverted ? pixels[i + 3] : 255 - pixels[i + 3];
    for (std::size_t c = i; c < i + 3; ++c) {
      const int ink = inverted ? pixels[c] : 255 - pixels[c];
      pixels[c] = static_cast<std::uint8_t>(ink * black / 255);
    }
  }
}

}  // namespace

struct JpegReader::Impl {
  jpeg_decompress_struct info{};
  ErrorState error{};
};

JpegReader::JpegReader() : impl_(std::make_unique<Impl>()) {
  impl_->info.err = install(impl_->error);
  guard(impl_->error, [this] { jpeg_create_decompress(&impl_->info); });
}

JpegReader::~JpegReader() {
  jpeg_destroy_decompress(&impl_->info);
}

PictureSize JpegReader::open(std::span<const std::uint8_t> data) {
  jpeg_decompress_struct& info = impl_->info;
  guard(impl_->error, [&info, data] {
    jpeg_abort_decompress(&info);
    jpeg_mem_src(&info, data.data(), data.size());
    jpeg_read_header(&info, TRUE);
  });
  if (double{1} * info.image_width * info.image_height > max_pixels) {
    throw JpegError("more than 100 million pixels");
  }
  return {static_cast<int>(info.image_width), static_cast<int>(info.image_height)};
}

void JpegReader::decode(int eighths, Pixels& pixels) {
  EXPECT(eighths >= 1 && eighths <= 8);
  jpeg_decompress_struct& info = impl_->info;
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  guard(impl_->error, [&info, eighths, cmyk] {
    info.scale_num = static_cast<unsigned>(eighths);
    info.scale_denom = 8;
    info.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBX;
    jpeg_start_decompress(&info);
  });
  pixels.width = static_cast<int>(info.output_width);
  pixels.height = static_cast<int>(info.output_height);
  pixels.rgbx.resize(pixels.row_bytes() * pixels.height);
  guard(impl_->error, [&info, &pixels] {
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = pixels.row(static_cast<int>(info.output_scanline));
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
  });
  if (cmyk) cmyk_to_rgb(pixels.rgbx, info.saw_Adobe_marker != FALSE);
}

std::string jpeg_library() {
  return "libjpeg-turbo " DLSCALE_TEXT(LIBJPEG_TURBO_VERSION);
}

namespace {

struct Encoder {
  jpeg_compress_struct info{};
  ErrorState error{};
  // libjpeg allocates only if this is too small, which takes more than 32 bits a pixel.
  std::unique_ptr<unsigned char[]> room;
  unsigned char* bytes = nullptr;
  unsigned long size = 0;

  explicit Encoder(std::size_t room_bytes)
      : room(std::make_unique_for_overwrite<unsigned char[]>(room_bytes)),
        bytes(room.get()),
        size(room_bytes) {
    info.err = install(error);
    guard(error, [this] { jpeg_create_compress(&info); });
  }
  ~Encoder() { jpeg_destroy_compress(&info); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::vector<std::uint8_t> take() {
    std::vector<std::uint8_t> result(bytes, bytes + size);
    if (bytes != room.get()) std::free(bytes);
    return result;
  }
};

}  // namespace

std::vector<std::uint8_t> encode_jpeg(const Pixels& pixels, int quality) {
  EXPECT(quality >= 1 && quality <= 100);
  Encoder encoder(pixels.rgbx.size() + 65536);
  jpeg_compress_struct& info = encoder.info;
  guard(encoder.error, [&] {
    jpeg_mem_dest(&info, &encoder.bytes, &encoder.size);
    info.image_width = static_cast<unsigned>(pixels.width);
    info.image_height = static_cast<unsigned>(pixels.height);
    info.input_components = 4;
    info.in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<JSAMPROW>(pixels.row(static_cast<int>(info.next_scanline)));
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  return encoder.take();
}

}  // namespace dlscale::train
