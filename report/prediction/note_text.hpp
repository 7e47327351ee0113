#pragma once
#include <string>
#include <vector>

#include "model/sgd_iter/evidence/notes.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// The sentence of a note without its examples.
std::string note_sentence(const model::Note& note);

/// The examples of a note in words.
std::vector<std::string> note_examples(const model::Note& note);

/// The sentence of a note, with its first example and the number of others.
std::string note_text(const model::Note& note);

std::vector<std::string> note_texts(const std::vector<model::Note>& notes);

/// Notes for programs: a list of objects with the kind and the text.
Json notes_object(const std::vector<model::Note>& notes);

}  // namespace dlscale::report
