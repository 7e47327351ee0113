// dlscale data: creates and describes data sets.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/document_output.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/report/measured_steps.hpp"
#include "core/text/quantity_text.hpp"
#include "train/data/data.hpp"

namespace dlscale::app {
namespace {

void print_summary(const train::DataSet& data) {
  double bytes = 0;
  for (const auto& picture : data.pictures) bytes += static_cast<double>(picture.bytes);
  const double count = static_cast<double>(data.pictures.size());
  fmt::print("{}: {} pictures of {} classes, {} in all, {} a picture\n", data.root.string(),
             data.pictures.size(), data.classes.size(), to_text(Bytes(bytes)),
             to_text(Bytes(count > 0 ? bytes / count : 0)));
}

struct MakeOptions {
  std::string out;
  train::DataSetSpec spec;
  std::string picture_size = "110 kB";
  bool quiet = false;
};

void declare_make(CLI::App& verb, ExitCode& result) {
  CLI::App* command =
      verb.add_subcommand("make", "Write a JPEG data set whose classes can be learned");
  auto options = std::make_shared<MakeOptions>();
  command->add_option("-o,--out", options->out, "Folder to write")->type_name("FOLDER")->required();
  command->add_option("--classes", options->spec.classes, "Classes")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command->add_option("--pictures", options->spec.pictures, "Pictures in all")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--width", options->spec.width, "Mean width in pixels")
      ->check(CLI::Range(32, 8192))
      ->capture_default_str();
  command->add_option("--height", options->spec.height, "Mean height in pixels")
      ->check(CLI::Range(32, 8192))
      ->capture_default_str();
  command->add_option("--picture-size", options->picture_size, "Mean size of a file")
      ->capture_default_str();
  command->add_option("--seed", options->spec.seed, "Seed")->check(seed())->capture_default_str();
  declare_quiet(*command, options->quiet);
  command->footer("Example: dlscale data make --out data --pictures 1024");
  command->callback([options, &result] {
    options->spec.target_bytes =
        parse_quantity<Bytes>(options->picture_size, "--picture-size").si();
    print_summary(train::make_data_set(options->out, options->spec));
    print_next(steps_of_data(options->out), options->quiet);
    result = ExitCode::ok;
  });
}

struct DataInfoOptions {
  std::string folder;
  bool quiet = false;
};

void declare_data_info(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand("info", "Check a data set and say what it holds");
  auto options = std::make_shared<DataInfoOptions>();
  command->add_option("folder", options->folder, "Folder of the data set")
      ->type_name("FOLDER")
      ->required();
  declare_quiet(*command, options->quiet);
  command->footer("Example: dlscale data info data");
  command->callback([options, &result] {
    print_summary(train::open_data_set(options->folder));
    print_next(steps_of_data(options->folder), options->quiet);
    result = ExitCode::ok;
  });
}

void declare_data(CLI::App& verb, ExitCode& result) {
  verb.require_subcommand(1);
  declare_make(verb, result);
  declare_data_info(verb, result);
  verb.footer("Example: dlscale data make --out data --pictures 1024");
}

}  // namespace

extern const Verb data_verb{"data", "Make or check a data set", declare_data,
                            Verb::Signals::are_remembered};

}  // namespace dlscale::app
