// Reads the signed notes of checkpoints out of a text that holds many, as an anchor does: one after the other, perhaps
// of several logs, perhaps with torn ones between them. Memory: one note.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sallyport::trust {

class NoteReader {
 public:
  // `take` gets each note in order of the text; whether it has the right form is for parse_checkpoint().
  explicit NoteReader(std::function<void(std::string note)> take) : take_(std::move(take)) {}
  void feed(std::string_view bytes);  // in pieces of any size
  void finish();
  // How many began and did not end: cut off by a crash, or no note at all.
  [[nodiscard]] std::size_t torn() const { return torn_; }

 private:
  void line();
  void end();

  std::function<void(std::string)> take_;
  std::string line_, note_;
  bool is_signed_ = false;  // the note has a line of a signature
  std::size_t torn_ = 0;
};

}  // namespace sallyport::trust
